//! Colours by role. A theme is a file that gives each role of the screen its look; panes name roles
//! and never colours.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

use crate::config::{names_with_own, nearest};
use crate::event::Problem;
use crate::files;

const BUILT_IN: &[(&str, &str)] = &[
    ("dark", include_str!("../../assets/themes/dark.toml")),
    ("light", include_str!("../../assets/themes/light.toml")),
    (
        "colour-blind",
        include_str!("../../assets/themes/colour-blind.toml"),
    ),
];

/// Declares the roles once: the enum, their names in theme files, and their docs.
macro_rules! tones {
    ($($(#[$doc:meta])* $tone:ident = $name:literal),+ $(,)?) => {
        /// The role of a piece of the screen, which decides its look.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Tone { $($(#[$doc])* $tone),+ }

        impl Tone {
            /// Every role.
            pub const ALL: &[Self] = &[$(Self::$tone),+];

            /// Returns the name in theme files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$tone => $name),+ }
            }
        }
    };
}

tones! {
    /// Ordinary text; its background is the screen's.
    Text = "text",
    /// Secondary text: units, hints, explanations.
    Quiet = "quiet",
    /// Prominent text: names, headings.
    Strong = "strong",
    /// The frame of a pane.
    Border = "border",
    /// The frame and title of the pane that has the keys.
    Focus = "focus",
    /// Keys in hints.
    Key = "key",
    /// The selected row.
    Selection = "selection",
    /// The question.
    Question = "question",
    /// A citation.
    Citation = "citation",
    /// Sure, ready, in the context.
    Good = "good",
    /// Uncertain, slow, in need of attention.
    Warning = "warning",
    /// Failed.
    Bad = "bad",
    /// A chunk that was dropped.
    Dropped = "dropped",
    /// The filled part of a bar.
    Bar = "bar",
    /// The empty part of a bar.
    Track = "track",
    /// A word of the query in a passage.
    Highlight = "highlight",
    /// The cited lines of a source.
    Cited = "cited",
    /// Code in a rendered document.
    Code = "code",
    /// A match of the search.
    Match = "match",
    /// A short message in the status line.
    Notice = "notice",
    /// A line that must not be overlooked.
    Banner = "banner",
    /// The line of the question.
    Field = "field",
}

/// The number of colours that the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// None at all: attributes only (`NO_COLOR`).
    None,
    /// The 256 of xterm.
    Indexed,
    /// 24 bits.
    True,
}

impl Depth {
    /// Reads the environment, once at the start: `NO_COLOR`, then `COLORTERM` and `TERM`.
    pub fn from_environment() -> Self {
        let set = |name: &str| std::env::var(name).unwrap_or_default();
        if !set("NO_COLOR").is_empty() || set("TERM") == "dumb" {
            Self::None
        } else if matches!(set("COLORTERM").as_str(), "truecolor" | "24bit")
            || set("TERM").ends_with("-direct")
        {
            Self::True
        } else {
            Self::Indexed
        }
    }
}

/// A look for every role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    styles: Vec<Style>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThemeFile {
    /// The theme that provides the looks this file leaves out; `dark` unless the file overrides a
    /// built-in theme.
    base: Option<String>,
    /// Named colours, `#rrggbb`.
    #[serde(default)]
    palette: BTreeMap<String, String>,
    #[serde(default)]
    roles: BTreeMap<String, Look>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Look {
    fg: Option<String>,
    bg: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reversed: bool,
    struck: bool,
}

impl Theme {
    /// The theme called `name`: built in, or `<name>.toml` in the user's folder, which may leave
    /// roles out.
    ///
    /// # Errors
    /// An unknown name, role or colour (with the nearest known one), an unreadable file.
    pub fn load(name: &str, folder: &Path, depth: Depth) -> Result<Self, Problem> {
        let mut looks = BTreeMap::new();
        gather(name, folder, &mut looks, 0)?;
        let styles = Tone::ALL
            .iter()
            .map(|tone| looks.get(tone.name()).copied().unwrap_or_default())
            .map(|style| at_depth(style, depth))
            .collect();
        Ok(Self { styles })
    }

    /// The names that can be chosen: built-in ones, then the user's.
    pub fn names(folder: &Path) -> Vec<String> {
        names_with_own(BUILT_IN, folder)
    }

    /// The look of a role, for text written over the screen. It leaves out the background of
    /// [`Tone::Text`], so that text on a selected row keeps the background of the row.
    pub fn style(&self, tone: Tone) -> Style {
        let style = self.styles[tone as usize];
        if tone == Tone::Text {
            Style { bg: None, ..style }
        } else {
            style
        }
    }

    /// The look of the empty screen.
    pub fn screen(&self) -> Style {
        self.styles[Tone::Text as usize]
    }
}

/// Collects the looks of a theme over those of its base.
fn gather(
    name: &str,
    folder: &Path,
    looks: &mut BTreeMap<&'static str, Style>,
    depth: usize,
) -> Result<(), Problem> {
    if depth > 8 {
        return Err(Problem::new(
            format!("theme `{name}` is based on itself"),
            "change its `base`",
        ));
    }

    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let file = folder.join(format!("{name}.toml"));
    let own = (!name.contains(['/', '\\']) && file.is_file()).then_some(file);
    if built_in.is_none() && own.is_none() {
        let known = Theme::names(folder);
        let hint = nearest(name, known.iter().map(String::as_str));
        return Err(Problem::new(
            format!("unknown theme `{name}`{hint}"),
            format!("set screen.theme to one of {}", known.join(", ")),
        ));
    }

    if let Some((_, text)) = built_in {
        put_over(name, &parse(text, name)?, looks)?;
    }
    if let Some(file) = own {
        let origin = file.display().to_string();
        let unreadable = |error: std::io::Error| {
            let error = format!("cannot read {origin} ({error})");
            Problem::new(error, "check the file and its permissions")
        };
        let text = files::read_text(&file).map_err(unreadable)?;
        let parsed = parse(&text, &origin)?;
        if built_in.is_none() {
            let base = parsed.base.as_deref().unwrap_or("dark");
            gather(base, folder, looks, depth + 1)?;
        }
        put_over(&origin, &parsed, looks)?;
    }
    Ok(())
}

/// The problem of a theme file that says what a theme does not have.
fn wrong(error: String) -> Problem {
    let advice = "correct the file, or set screen.theme to another one";
    Problem::new(error, advice)
}

fn parse(text: &str, origin: &str) -> Result<ThemeFile, Problem> {
    toml::from_str(text).map_err(|error| wrong(format!("{origin} is not a theme ({error})")))
}

fn put_over(
    origin: &str,
    file: &ThemeFile,
    looks: &mut BTreeMap<&'static str, Style>,
) -> Result<(), Problem> {
    for (role, look) in &file.roles {
        let Some(tone) = Tone::ALL.iter().find(|tone| tone.name() == role) else {
            let hint = nearest(role, Tone::ALL.iter().map(|tone| tone.name()));
            return Err(wrong(format!("{origin}: unknown role `{role}`{hint}")));
        };

        let style = style_of(look, &file.palette)
            .map_err(|reason| wrong(format!("{origin}: role `{role}`: {reason}")))?;
        looks.insert(tone.name(), style);
    }
    Ok(())
}

fn style_of(look: &Look, palette: &BTreeMap<String, String>) -> Result<Style, String> {
    let colour = |name: &String| colour(name, palette);
    let mut style = Style {
        fg: look.fg.as_ref().map(colour).transpose()?,
        bg: look.bg.as_ref().map(colour).transpose()?,
        ..Style::default()
    };

    let modifiers = [
        (look.bold, Modifier::BOLD),
        (look.dim, Modifier::DIM),
        (look.italic, Modifier::ITALIC),
        (look.underline, Modifier::UNDERLINED),
        (look.reversed, Modifier::REVERSED),
        (look.struck, Modifier::CROSSED_OUT),
    ];
    for (_, modifier) in modifiers.iter().filter(|(is_on, _)| *is_on) {
        style = style.add_modifier(*modifier);
    }
    Ok(style)
}

fn colour(name: &str, palette: &BTreeMap<String, String>) -> Result<Color, String> {
    let text = palette.get(name).map_or(name, String::as_str);
    // the terminal's own colours have no place in a theme
    let hex = Some(text).filter(|text| text.starts_with('#'));
    hex.and_then(|hex| hex.parse().ok()).ok_or_else(|| {
        let hint = nearest(name, palette.keys().map(String::as_str));
        format!("`{name}` is neither #rrggbb nor a name in [palette]{hint}")
    })
}

fn at_depth(mut style: Style, depth: Depth) -> Style {
    match depth {
        Depth::True => style,
        Depth::Indexed => {
            style.fg = style.fg.map(to_indexed);
            style.bg = style.bg.map(to_indexed);
            style
        }
        Depth::None => {
            // a look that shows by its background needs a modifier instead; the background of the
            // screen does not
            let is_marked = style.bg.is_some() && style.add_modifier.contains(Modifier::BOLD);
            style.fg = None;
            style.bg = None;
            if is_marked { style.reversed() } else { style }
        }
    }
}

/// The shades of a colour in xterm's cube.
const STEPS: [i32; 6] = [0, 95, 135, 175, 215, 255];

/// The nearest of xterm's 256 colours: the 6x6x6 cube or the grey ramp.
fn to_indexed(colour: Color) -> Color {
    const NEARLY_GREY: i32 = 32;
    let Color::Rgb(r, g, b) = colour else {
        return colour;
    };

    let rgb = [i32::from(r), i32::from(g), i32::from(b)];
    // the coarse cube would turn a tinged grey into another colour
    let tinge = rgb.iter().max().unwrap_or(&0) - rgb.iter().min().unwrap_or(&0);
    let mean = rgb.iter().sum::<i32>() / 3;
    let cube = if tinge < NEARLY_GREY {
        [nearest_step(mean); 3]
    } else {
        rgb.map(nearest_step)
    };

    let grey = ((mean - 3) / 10).clamp(0, 23);
    let grey_value = 8 + 10 * grey;
    let index = if distance(rgb, [grey_value; 3]) < distance(rgb, cube.map(|at| STEPS[at])) {
        232 + grey as usize
    } else {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]
    };
    Color::Indexed(index as u8)
}

/// The place of the nearest shade in [`STEPS`].
fn nearest_step(value: i32) -> usize {
    let steps = 0..STEPS.len();
    steps
        .min_by_key(|at| (STEPS[*at] - value).abs())
        .unwrap_or(0)
}

/// The squared distance of two colours.
fn distance(a: [i32; 3], b: [i32; 3]) -> i32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Returns a colour as `#rrggbb`; `otherwise` for those that only the terminal knows.
pub fn hex(colour: Color, otherwise: &str) -> String {
    let (r, g, b) = match colour {
        Color::Rgb(r, g, b) => (r, g, b),
        Color::Indexed(index @ 232..) => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
        Color::Indexed(index @ 16..) => {
            let step = |place: u8| STEPS[usize::from((index - 16) / place % 6)] as u8;
            (step(36), step(6), step(1))
        }
        _ => return otherwise.to_owned(),
    };
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    #[test]
    fn themes_of_the_program_give_every_role_a_look() {
        for (name, text) in BUILT_IN {
            let file = parse(text, name).expect("a theme");
            for tone in Tone::ALL {
                assert!(
                    file.roles.contains_key(tone.name()),
                    "{name} has no look for {}",
                    tone.name()
                );
            }
            Theme::load(name, Path::new(""), Depth::True).expect("a theme");
        }
    }

    #[test]
    fn no_colour_means_none() {
        let theme = Theme::load("dark", Path::new(""), Depth::None).expect("a theme");
        for tone in Tone::ALL {
            let style = theme.style(*tone);
            assert!(style.fg.is_none() && style.bg.is_none(), "{tone:?}");
        }
        assert!(
            theme
                .style(Tone::Selection)
                .add_modifier
                .contains(Modifier::REVERSED)
        );
    }

    #[test]
    fn a_users_file_overrides_by_role() {
        let folder = folder_with(&[
            ("dark.toml", "[roles]\nbad = { fg = \"#ff0000\" }"),
            (
                "mine.toml",
                "base = \"light\"\n[palette]\nink = \"#010203\"\n[roles]\ntext = { fg = \"ink\" }",
            ),
        ]);
        let load = |name| Theme::load(name, folder.path(), Depth::True).expect("a theme");
        assert_eq!(
            load("dark").style(Tone::Bad).fg,
            Some(Color::Rgb(255, 0, 0))
        );
        assert_eq!(load("mine").style(Tone::Text).fg, Some(Color::Rgb(1, 2, 3)));
        assert_eq!(
            load("mine").style(Tone::Bad),
            load("light").style(Tone::Bad)
        );
    }

    #[test]
    fn unknown_names_name_the_nearest() {
        let folder = folder_with(&[
            ("a.toml", "[roles]\ncitaton = {}"),
            (
                "b.toml",
                "[palette]\nink = \"#000000\"\n[roles]\ntext = { fg = \"inc\" }",
            ),
        ]);
        let cases = [
            ("darc", "did you mean `dark`"),
            ("a", "did you mean `citation`"),
            ("b", "did you mean `ink`"),
        ];
        for (name, expected) in cases {
            let error = Theme::load(name, folder.path(), Depth::True).expect_err("an error");
            assert!(error.line().contains(expected), "{error:?}");
        }
    }

    #[test]
    fn the_nearest_indexed_colour() {
        assert_eq!(to_indexed(Color::Rgb(255, 255, 255)), Color::Indexed(231));
        assert_eq!(to_indexed(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        for (colour, written) in [
            (Color::Indexed(196), "#ff0000"),
            (Color::Indexed(232), "#080808"),
            (Color::Rgb(1, 2, 3), "#010203"),
            (Color::Reset, "?"),
        ] {
            assert_eq!(hex(colour, "?"), written);
        }
        assert_eq!(to_indexed(Color::Rgb(128, 128, 128)), Color::Indexed(244));
    }
}
