//! Plots as SVG: a frame with axes, lines, bars and points. Series differ by colour and by dash or mark, and every point says its values.

/// Size of a plot in its own units, and the room of its axes.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 14.0;
/// Steps of an axis.
const STEPS: u32 = 5;
/// Looks of series, by number; a page's style sheet has the colours.
const DASHES: [&str; 6] = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 2"];

/// Text that may stand in HTML and SVG.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in crate::event::harmless(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A plot under way.
pub struct Plot {
    x: (f64, f64),
    y: (f64, f64),
    body: String,
    legend: Vec<(usize, String)>,
}

impl Plot {
    /// An empty plot over these ranges, with the names of its axes.
    #[must_use]
    pub fn new(x: (f64, f64), x_name: &str, y: (f64, f64), y_name: &str) -> Self {
        // an axis without length has no places on it
        let widened = |(low, high): (f64, f64)| {
            if high > low {
                (low, high)
            } else {
                (low, low + 1.0)
            }
        };
        let mut plot = Self {
            x: widened(x),
            y: widened(y),
            body: String::new(),
            legend: Vec::new(),
        };
        plot.axes(x_name, y_name);
        plot
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let share =
            |value: f64, (low, high): (f64, f64)| ((value - low) / (high - low)).clamp(0.0, 1.0);
        let across = LEFT + share(x, self.x) * (WIDTH - LEFT - RIGHT);
        (
            across,
            HEIGHT - BOTTOM - share(y, self.y) * (HEIGHT - BOTTOM - TOP),
        )
    }

    fn axes(&mut self, x_name: &str, y_name: &str) {
        for step in 0..=STEPS {
            let share = f64::from(step) / f64::from(STEPS);
            let (x, y) = (
                self.x.0 + share * (self.x.1 - self.x.0),
                self.y.0 + share * (self.y.1 - self.y.0),
            );
            let ((across, bottom), (left, up)) = (self.at(x, self.y.0), self.at(self.x.0, y));
            self.body.push_str(&format!(
                "<line class=\"grid\" x1=\"{left:.1}\" y1=\"{up:.1}\" x2=\"{:.1}\" y2=\"{up:.1}\"/>\
                 <text class=\"tick\" x=\"{across:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                bottom + 14.0,
                short(x),
                left - 5.0,
                up + 3.5,
                short(y)
            ));
        }
        let middle = TOP + (HEIGHT - BOTTOM - TOP) / 2.0;
        self.body.push_str(&format!(
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"axis\" transform=\"translate(12 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
            HEIGHT - 8.0,
            escaped(x_name),
            escaped(y_name)
        ));
    }

    /// The line on which both axes say the same.
    #[must_use]
    pub fn diagonal(mut self) -> Self {
        let ((x1, y1), (x2, y2)) = (self.at(self.x.0, self.y.0), self.at(self.x.1, self.y.1));
        self.body.push_str(&format!(
            "<line class=\"diagonal\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
        self
    }

    /// A series as a line, with a mark where `marks` gives a radius; `says` is what a reader sees of a point.
    pub fn line(
        &mut self,
        series: usize,
        name: &str,
        points: &[(f64, f64)],
        marks: &[(f64, String)],
    ) {
        let places: Vec<(f64, f64)> = points.iter().map(|(x, y)| self.at(*x, *y)).collect();
        let path: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        self.body.push_str(&format!(
            "<polyline class=\"line s{}\" stroke-dasharray=\"{}\" points=\"{}\"><title>{}</title></polyline>",
            series % DASHES.len(),
            DASHES[series % DASHES.len()],
            path.join(" "),
            escaped(name)
        ));
        for ((x, y), (radius, says)) in places.iter().zip(marks) {
            self.body.push_str(&mark(series, (*x, *y), *radius, says));
        }
        self.legend.push((series, name.to_owned()));
    }

    /// One named point.
    pub fn point(&mut self, series: usize, name: &str, (x, y): (f64, f64), says: &str) {
        let place = self.at(x, y);
        self.body.push_str(&mark(series, place, 6.0, says));
        // names at the right edge stand to the left of their point
        let (anchor, beside) = if place.0 > WIDTH * 0.7 {
            ("end", -10.0)
        } else {
            ("start", 10.0)
        };
        self.body.push_str(&format!(
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            place.0 + beside,
            place.1 - 6.0,
            escaped(name)
        ));
    }

    /// The plot as SVG, with the names of its series below.
    #[must_use]
    pub fn svg(self, title: &str) -> String {
        let rows = self.legend.len().div_ceil(2);
        let height = HEIGHT + 18.0 * rows as f64;
        let mut legend = String::new();
        for (at, (series, name)) in self.legend.iter().enumerate() {
            let (x, y) = (
                LEFT + (at % 2) as f64 * 215.0,
                HEIGHT + 10.0 + (at / 2) as f64 * 18.0,
            );
            legend.push_str(&format!(
                "<line class=\"line s{}\" stroke-dasharray=\"{}\" x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"/>\
                 <text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
                series % DASHES.len(),
                DASHES[series % DASHES.len()],
                x + 26.0,
                x + 32.0,
                y + 4.0,
                escaped(name)
            ));
        }
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">{}{legend}</svg>",
            escaped(title),
            self.body
        )
    }
}

fn mark(series: usize, (x, y): (f64, f64), radius: f64, says: &str) -> String {
    format!(
        "<circle class=\"mark s{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{}</title></circle>",
        series % DASHES.len(),
        escaped(says)
    )
}

/// A tick's number.
fn short(value: f64) -> String {
    match value.abs() {
        0.0..1.0 => format!("{value:.2}"),
        1.0..10.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Bars from left to right, each of a share in 0..=1, one below the other, as SVG.
#[must_use]
pub fn bars(title: &str, bars: &[(String, f64, String)]) -> String {
    const ROW: f64 = 26.0;
    const NAMES: f64 = 190.0;
    let mut body = String::new();
    for (at, (name, share, says)) in bars.iter().enumerate() {
        let y = at as f64 * ROW + 6.0;
        let length = share.clamp(0.0, 1.0) * (WIDTH - NAMES - 70.0);
        body.push_str(&format!(
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"bar\" x=\"{NAMES}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"16\"/>\
             <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            NAMES - 8.0,
            y + 12.0,
            escaped(name),
            NAMES + length + 6.0,
            y + 12.0,
            escaped(says)
        ));
    }
    let height = bars.len() as f64 * ROW + 8.0;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">{body}</svg>",
        escaped(title)
    )
}
