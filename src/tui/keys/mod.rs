//! What the screen can do. Each action is declared once, with its name, its keys, its doc and what it does; the help overlay,
//! the palette, the hints of the status line, the keymap file and the README's table come from this list.

mod key;
mod keymap;

pub use key::Key;
pub use keymap::Keymap;

/// Where an action is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Always, also while text is typed.
    Everywhere,
    /// While no text is typed: panes and overlays.
    Reading,
    /// While a pane has the keys.
    Panes,
    /// While a recorded run is replayed.
    Replay,
    /// While the question is typed.
    Input,
    /// While a search, a name or a value is typed.
    Field,
    /// While a list to choose from is open.
    Choosing,
    /// While the settings are open.
    Settings,
}

impl Context {
    /// The title in help.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Everywhere => "Everywhere",
            Self::Reading => "Reading",
            Self::Panes => "Panes and runs",
            Self::Replay => "Replay",
            Self::Input => "Asking",
            Self::Field => "Typing",
            Self::Choosing => "Choosing",
            Self::Settings => "Settings",
        }
    }

    /// Every context, in the order of help.
    pub const ALL: &[Self] = &[
        Self::Input,
        Self::Panes,
        Self::Replay,
        Self::Settings,
        Self::Choosing,
        Self::Field,
        Self::Reading,
        Self::Everywhere,
    ];

    /// Contexts that hold at the same time: within one of these a key has one meaning.
    pub(super) const PLACES: &[&[Self]] = &[
        &[Self::Input, Self::Everywhere],
        &[Self::Field, Self::Everywhere],
        &[Self::Panes, Self::Reading, Self::Everywhere],
        &[Self::Replay, Self::Panes, Self::Reading, Self::Everywhere],
        &[
            Self::Settings,
            Self::Choosing,
            Self::Reading,
            Self::Everywhere,
        ],
    ];
}

/// An action as the list declares it.
#[derive(Debug, Clone, Copy)]
pub struct ActionInfo {
    /// The name in keymap files.
    pub name: &'static str,
    pub context: Context,
    /// Default keys, the one to show first.
    pub keys: &'static [&'static str],
    pub doc: &'static str,
}

/// The list of all actions: `Name = "name" Context ["key"] "doc" => what it does;`. It is handed to the macro `$then`: here to
/// declare [`Action`], in `app` to dispatch it, so that this list can name what `App` does and this module need not know it.
macro_rules! action_list {
    ($then:ident) => {
        $then! {
            Ask = "ask" Input ["enter"] "ask the question" => App::ask;
            Newline = "newline" Input ["ctrl-j", "shift-enter", "alt-enter"] "break the line" => App::newline;
            HistoryBack = "history-back" Input ["up"] "an earlier question" => App::history_back;
            HistoryOn = "history-on" Input ["down"] "a later question" => App::history_on;
            ScrollUp = "scroll-up" Input ["pageup"] "a page up in the pane" => App::page_up;
            ScrollDown = "scroll-down" Input ["pagedown"] "a page down in the pane" => App::page_down;

            FocusInput = "focus-input" Panes ["i", "enter"] "type a question" => App::focus_input;
            Again = "again" Panes ["r"] "run the question again, with the settings as they are now" => App::again;
            AgainFrom = "again-from" Panes ["R"] "run it again from the selected sentence on" => App::again_from;
            Pin = "pin" Panes ["a"] "pin the selected hit: it is in every context, until pressed again" => |app| app.act_or(Action::Pin, "select a hit in Retrieval");
            Exclude = "exclude" Panes ["x"] "exclude the selected hit: it is in no context, until pressed again" => |app| app.act_or(Action::Exclude, "select a hit in Retrieval");
            OpenSource = "open-source" Panes ["o"] "open the source at the selected hit or citation" => |app| app.act_or(Action::OpenSource, "nothing to open: select a hit or a sentence with a citation");
            OpenFolder = "open-folder" Panes ["O"] "open another folder of documents" => App::open_folder;
            Zoom = "zoom" Panes ["z"] "give the pane the whole screen, and back" => App::zoom;
            PreviousRun = "previous-run" Panes ["["] "the run before" => App::previous_run;
            NextRun = "next-run" Panes ["]"] "the run after" => App::next_run;
            Prompts = "prompts" Panes ["p"] "the exact prompt of every model call" => |app| app.open(overlays::Prompts);
            Utility = "utility" Panes ["w"] "what the context was worth to the model, chunk by chunk" => App::open_utility;
            Whereabouts = "whereabouts" Panes ["W"] "where a passage went that should have been found" => App::open_passage_trace;
            Comparison = "comparison" Panes ["c"] "the runs of this question side by side" => |app| app.open(overlays::Comparison);
            Settings = "settings" Panes ["s"] "change a setting or the preset" => |app| app.open_list(overlays::Settings);
            Sessions = "sessions" Panes ["S"] "recorded runs" => App::open_sessions;
            IndexReport = "index-report" Panes ["I"] "what was indexed and what was skipped" => |app| app.open(overlays::Report);
            Log = "log" Panes ["L"] "warnings and failures" => |app| app.open(overlays::Log);
            Save = "save" Panes ["e"] "save the run as Markdown" => App::save_run;
            SaveScreen = "save-screen" Panes ["E"] "save the screen as text" => App::save_screen;
            SavePicture = "save-picture" Panes ["P"] "save the screen as an SVG picture" => App::save_picture;
            Reindex = "reindex" Panes ["u"] "bring the index up to date with the folder" => App::reindex;
            Rebuild = "rebuild-index" Panes [] "throw the index away and build it anew" => App::rebuild;
            Answer = "pane-answer" Panes ["1"] "Answer" => |app| app.focus(Pane::Answer);
            Uncertainty = "pane-uncertainty" Panes ["2"] "Uncertainty" => |app| app.focus(Pane::Uncertainty);
            Retrieval = "pane-retrieval" Panes ["3"] "Retrieval" => |app| app.focus(Pane::Retrieval);
            Links = "pane-links" Panes ["4"] "Links" => |app| app.focus(Pane::Links);
            Refinement = "pane-refinement" Panes ["5"] "Refinement" => |app| app.focus(Pane::Refinement);

            Play = "play" Replay ["space"] "play or pause" => App::play;
            Step = "step" Replay [".", "right"] "one record on" => App::step_on;
            StepBack = "step-back" Replay [",", "left"] "one record back" => App::step_back;
            Faster = "faster" Replay ["+", "="] "twice as fast" => |app| app.change_speed(2.0);
            Slower = "slower" Replay ["-"] "half as fast" => |app| app.change_speed(0.5);
            Restart = "restart" Replay ["0"] "from the beginning" => App::restart;

            Choose = "choose" Choosing ["enter", "space"] "take or change what is selected" => |app| app.act(Action::Choose);
            ChangeBack = "change-back" Settings ["left", "h"] "the choice before" => |app| app.act(Action::ChangeBack);
            ResetSetting = "reset-setting" Settings ["backspace", "delete"] "as it was" => |app| app.act(Action::ResetSetting);
            RunChanged = "run-changed" Settings ["r"] "run the question again with these settings" => App::again;

            Accept = "accept" Field ["enter"] "take it" => App::accept;
            FieldUp = "field-up" Field ["up", "ctrl-k"] "the entry above" => |app| app.move_below_input(-1);
            FieldDown = "field-down" Field ["down", "ctrl-j"] "the entry below" => |app| app.move_below_input(1);

            Down = "down" Reading ["j", "down"] "down" => |app| app.select_by(1);
            Up = "up" Reading ["k", "up"] "up" => |app| app.select_by(-1);
            Top = "top" Reading ["g", "home"] "to the top" => App::top;
            Bottom = "bottom" Reading ["G", "end"] "to the end" => App::bottom;
            HalfDown = "half-page-down" Reading ["ctrl-d"] "half a page down" => App::half_page_down;
            HalfUp = "half-page-up" Reading ["ctrl-u"] "half a page up" => App::half_page_up;
            PageDown = "page-down" Reading ["pagedown"] "a page down" => App::page_down;
            PageUp = "page-up" Reading ["pageup"] "a page up" => App::page_up;
            Search = "search" Reading ["/"] "search in the pane" => App::open_search;
            NextMatch = "next-match" Reading ["n"] "the next match" => |app| app.go_to_match(look::Match::Next);
            PreviousMatch = "previous-match" Reading ["N"] "the match before" => |app| app.go_to_match(look::Match::Previous);
            Copy = "copy" Reading ["y"] "copy what is selected (OSC 52)" => App::copy;
            Freeze = "freeze" Reading ["f"] "hold the screen still, and go on" => App::freeze;
            Mouse = "mouse" Reading ["m"] "give the mouse to the terminal, and take it back" => App::toggle_mouse;
            PaletteByColon = "commands" Reading [":"] "every command, by name" => |app| app.open_list(overlays::Palette::default());
            Help = "help" Reading ["?"] "the keys that work now" => App::open_help;
            Quit = "quit" Reading ["q"] "leave; in an overlay, close it" => App::quit;

            NextPane = "next-pane" Everywhere ["tab"] "the next pane" => |app| app.focus_by(1);
            PreviousPane = "previous-pane" Everywhere ["shift-tab"] "the pane before" => |app| app.focus_by(-1);
            Back = "back" Everywhere ["esc"] "close, stop the run, or leave the input" => App::back;
            Palette = "palette" Everywhere ["ctrl-p"] "every command, by name" => |app| app.open_list(overlays::Palette::default());
            HelpKey = "help-key" Everywhere ["f1"] "the keys that work now" => App::open_help;
            QuitNow = "quit-now" Everywhere ["ctrl-c"] "leave at once" => App::quit_now;
        }
    };
}
pub(super) use action_list;

macro_rules! declare {
    ($($action:ident = $name:literal $context:ident [$($key:literal),*] $doc:literal => $does:expr;)+) => {
        /// Something the screen can do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action { $(#[doc = $doc] $action),+ }

        impl Action {
            /// Every action, in the order of help.
            pub const ALL: &[Self] = &[$(Self::$action),+];

            /// Name, context, default keys, doc.
            pub fn info(self) -> ActionInfo {
                match self {
                    $(Self::$action => ActionInfo { name: $name, context: Context::$context, keys: &[$($key),*], doc: $doc }),+
                }
            }
        }
    };
}

action_list!(declare);

/// The keymap file: every action with its keys and its doc, as `config/keymap.toml` holds it.
#[must_use]
pub fn keymap_toml() -> String {
    let mut text = "# The keys of the screen. Your own file needs only the actions that you change; `ragscope paths` prints where it goes.\n\
                    # Keys are signs (q, G, ?) or names (enter, esc, tab, space, up, pageup, f1), with ctrl-, alt- and shift- before them.\n"
        .to_owned();
    for context in Context::ALL {
        text.push_str(&format!("\n# ── {} ──\n", context.title()));
        for info in of_context(*context) {
            let keys: Vec<String> = info.keys.iter().map(|key| format!("{key:?}")).collect();
            text.push_str(&format!(
                "# {}\n{} = [{}]\n",
                info.doc,
                info.name,
                keys.join(", ")
            ));
        }
    }
    text
}

/// The README's table of keys, in Markdown.
#[must_use]
pub fn readme_table() -> String {
    let mut text = "| where | key | what it does |\n|---|---|---|\n".to_owned();
    for context in Context::ALL {
        for info in of_context(*context).filter(|info| !info.keys.is_empty()) {
            let keys: Vec<String> = info.keys.iter().map(|key| format!("`{key}`")).collect();
            text.push_str(&format!(
                "| {} | {} | {} |\n",
                context.title(),
                keys.join(" "),
                info.doc
            ));
        }
    }
    text
}

fn of_context(context: Context) -> impl Iterator<Item = ActionInfo> {
    Action::ALL
        .iter()
        .map(|action| action.info())
        .filter(move |info| info.context == context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keymap_file_is_the_list() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("config/keymap.toml");
        if std::env::var_os("UPDATE_KEYMAP").is_some() {
            std::fs::write(&file, keymap_toml()).expect("a keymap file");
        }
        let text = std::fs::read_to_string(&file).expect("a keymap file");
        assert_eq!(
            text,
            keymap_toml(),
            "run this test with UPDATE_KEYMAP=1 to write the file from the list"
        );
        toml::from_str::<toml::Table>(&text).expect("TOML");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = Action::ALL
            .iter()
            .map(|action| action.info().name)
            .collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Action::ALL.len());
    }
}
