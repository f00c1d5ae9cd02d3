//! Plots as SVG: a frame with axes, lines, bars and points. Series differ by colour and by dash or
//! mark, and every point shows its values in a tooltip.

/// Size of a plot in its own units, and the margins of its axes.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 14.0;
/// Steps of an axis.
const STEPS: u32 = 5;
/// Dashes of series, by number; a page's style sheet has the colours.
const DASHES: [&str; 6] = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 2"];

/// Returns the dash of a series. Series of one colour have another dash each.
fn dash(series: usize) -> &'static str {
    DASHES[(series + series / DASHES.len()) % DASHES.len()]
}

/// Escapes text for HTML and SVG.
pub fn escape(text: &str) -> String {
    crate::event::harmless(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// An axis of a plot, which begins at 0.
pub struct Axis {
    pub name: &'static str,
    pub max: f64,
}

impl Axis {
    /// Returns an axis of a share in 0..=1.
    pub fn share(name: &'static str) -> Self {
        Self { name, max: 1.0 }
    }

    /// Returns the axis with a length, which a position on it needs.
    fn with_length(self) -> Self {
        let max = if self.max > 0.0 { self.max } else { 1.0 };
        Self { max, ..self }
    }

    /// Returns where a value lies, in 0..=1.
    fn position(&self, value: f64) -> f64 {
        (value / self.max).clamp(0.0, 1.0)
    }
}

/// A point that is drawn as a circle.
pub struct Mark {
    pub x: f64,
    pub y: f64,
    pub radius: f64,
    /// The tooltip.
    pub text: String,
}

/// A named bar.
pub struct Bar {
    pub name: String,
    /// Length of the mark, in 0..=1.
    pub share: f64,
    /// The text beside it.
    pub text: String,
}

/// A plot that is being drawn.
pub struct Plot {
    x: Axis,
    y: Axis,
    body: String,
    legend: Vec<(usize, String)>,
}

impl Plot {
    /// Returns an empty plot with these axes.
    pub fn new(x: Axis, y: Axis) -> Self {
        let mut plot = Self {
            x: x.with_length(),
            y: y.with_length(),
            body: String::new(),
            legend: Vec::new(),
        };
        plot.ticks();
        plot.axis_names();
        plot
    }

    /// Returns the coordinates of a value of the horizontal axis.
    fn across(&self, x: f64) -> f64 {
        LEFT + self.x.position(x) * (WIDTH - LEFT - RIGHT)
    }

    /// Returns the coordinates of a value of the vertical axis.
    fn distance_to_top(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.position(y) * (HEIGHT - BOTTOM - TOP)
    }

    fn ticks(&mut self) {
        for step in 0..=STEPS {
            let position = f64::from(step) / f64::from(STEPS);
            let [x, y] = [&self.x, &self.y].map(|axis| position * axis.max);
            let across = self.across(x);
            let down = self.distance_to_top(y);
            let bottom = self.distance_to_top(0.0);

            self.body.push_str(&format!(
                "<line class=\"grid\" x1=\"{LEFT:.1}\" y1=\"{down:.1}\" x2=\"{:.1}\" y2=\"{down:.1}\"/>\
                 <text class=\"tick\" x=\"{across:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                bottom + 14.0,
                tick(x),
                LEFT - 5.0,
                down + 3.5,
                tick(y)
            ));
        }
    }

    fn axis_names(&mut self) {
        let middle = TOP + (HEIGHT - BOTTOM - TOP) / 2.0;
        self.body.push_str(&format!(
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"axis\" transform=\"translate(12 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
            HEIGHT - 8.0,
            escape(self.x.name),
            escape(self.y.name)
        ));
    }

    /// Draws the line on which both axes have the same value.
    pub fn diagonal(mut self) -> Self {
        let x1 = self.across(0.0);
        let y1 = self.distance_to_top(0.0);
        let x2 = self.across(self.x.max);
        let y2 = self.distance_to_top(self.y.max);
        self.body.push_str(&format!(
            "<line class=\"diagonal\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
        self
    }

    /// Draws a series as a line with marks on it.
    pub fn line(&mut self, series: usize, name: &str, points: &[(f64, f64)], marks: &[Mark]) {
        let path: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{:.1},{:.1}", self.across(*x), self.distance_to_top(*y)))
            .collect();
        self.body.push_str(&format!(
            "<polyline class=\"line s{}\" stroke-dasharray=\"{}\" points=\"{}\"><title>{}</title></polyline>",
            series % DASHES.len(),
            dash(series),
            path.join(" "),
            escape(name)
        ));

        for mark in marks {
            self.mark(series, mark);
        }
        self.legend.push((series, name.to_owned()));
    }

    /// Draws a mark with its name beside it.
    pub fn point(&mut self, series: usize, name: &str, mark: &Mark) {
        self.mark(series, mark);

        // names at the right edge stand to the left of their point
        let across = self.across(mark.x);
        let (anchor, offset) = if across > WIDTH * 0.7 {
            ("end", -10.0)
        } else {
            ("start", 10.0)
        };
        self.body.push_str(&format!(
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            across + offset,
            self.distance_to_top(mark.y) - 6.0,
            escape(name)
        ));
    }

    fn mark(&mut self, series: usize, mark: &Mark) {
        self.body.push_str(&format!(
            "<circle class=\"mark s{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\"><title>{}</title></circle>",
            series % DASHES.len(),
            self.across(mark.x),
            self.distance_to_top(mark.y),
            mark.radius,
            escape(&mark.text)
        ));
    }

    /// Returns the plot as SVG, with the names of its series below.
    pub fn svg(self, title: &str) -> String {
        let rows = self.legend.len().div_ceil(2);
        let height = HEIGHT + 18.0 * rows as f64;

        let mut legend = String::new();
        for (at, (series, name)) in self.legend.iter().enumerate() {
            let x = LEFT + (at % 2) as f64 * 215.0;
            let y = HEIGHT + 10.0 + (at / 2) as f64 * 18.0;
            legend.push_str(&format!(
                "<line class=\"line s{}\" stroke-dasharray=\"{}\" x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"/>\
                 <text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
                series % DASHES.len(),
                dash(*series),
                x + 26.0,
                x + 32.0,
                y + 4.0,
                escape(name)
            ));
        }
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">{}{legend}</svg>",
            escape(title),
            self.body
        )
    }
}

/// Returns the number of a tick.
fn tick(value: f64) -> String {
    match value.abs() {
        0.0..1.0 => format!("{value:.2}"),
        1.0..10.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Returns bars from left to right, one below the other, as SVG.
pub fn bars(title: &str, bars: &[Bar]) -> String {
    const ROW: f64 = 26.0;
    const NAMES: f64 = 190.0;

    let mut body = String::new();
    for (at, bar) in bars.iter().enumerate() {
        let y = at as f64 * ROW + 6.0;
        let length = bar.share.clamp(0.0, 1.0) * (WIDTH - NAMES - 70.0);
        body.push_str(&format!(
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"bar\" x=\"{NAMES}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"16\"/>\
             <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            NAMES - 8.0,
            y + 12.0,
            escape(&bar.name),
            NAMES + length + 6.0,
            y + 12.0,
            escape(&bar.text)
        ));
    }
    let height = bars.len() as f64 * ROW + 8.0;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">{body}</svg>",
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_series_look_the_same() {
        let looks: std::collections::HashSet<(usize, &str)> = (0..30)
            .map(|series| (series % DASHES.len(), dash(series)))
            .collect();
        assert_eq!(looks.len(), 30);
    }
}
