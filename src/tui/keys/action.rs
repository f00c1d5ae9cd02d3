//! The actions of the screen. Each is declared once, with its name, its keys, its doc and its
//! effect; the help overlay, the palette, the hints of the status line, the keymap file and the
//! guide's table come from this list.

use super::context::Context;

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

/// The list of all actions: `Name = "name" Context ["key"] "doc" => effect;`. It is passed to the
/// macro `$then`: here to declare [`Action`], in `app` to dispatch it, so that the list can name
/// methods of `App` that this module does not know.
macro_rules! action_list {
    ($then:ident) => {
        $then! {
            Ask = "ask" Input ["enter"] "ask the question" => App::ask;
            Newline = "newline" Input ["ctrl-j", "shift-enter", "alt-enter"] "insert a line break" => |app| app.ui.question.text.insert("\n");
            HistoryBack = "history-back" Input ["up"] "previous question" => App::history_back;
            HistoryForward = "history-forward" Input ["down"] "next question" => App::history_forward;
            ScrollUp = "scroll-up" Input ["pageup"] "scroll the pane up by a page" => |app| app.scroll_by(|height| 1 - height);
            ScrollDown = "scroll-down" Input ["pagedown"] "scroll the pane down by a page" => |app| app.scroll_by(|height| height - 1);

            FocusInput = "focus-input" Panes ["i"] "type a question" => App::focus_input;
            OpenSelected = "open-selected" Panes ["enter"] "open the source of what is selected, or type a question" => App::open_selected;
            Again = "again" Panes ["r"] "run the question again with the current settings" => App::again;
            AgainFrom = "again-from" Panes ["R"] "run it again from the selected sentence on" => App::again_from;
            Continue = "continue" Panes ["C"] "continue an answer that a limit cut off" => App::continue_answer;
            Pin = "pin" Panes ["a"] "pin the selected hit to every context, or unpin it" => |app| app.act_or(Action::Pin, "select a hit in Retrieval");
            Exclude = "exclude" Panes ["x"] "exclude the selected hit from every context, or allow it again" => |app| app.act_or(Action::Exclude, "select a hit in Retrieval");
            Filter = "filter" Panes ["f"] "choose the documents to retrieve from" => App::type_filter;
            OpenSource = "open-source" Panes ["o"] "open the source of the selected hit or citation" => |app| app.act_or(Action::OpenSource, "nothing to open: select a hit or a sentence with a citation");
            OpenFolder = "open-folder" Panes ["O"] "open another folder of documents" => App::open_folder;
            Zoom = "zoom" Panes ["z"] "zoom the pane in or out" => |app| app.ui.panes.zoomed = !app.ui.panes.zoomed;
            PreviousRun = "previous-run" Panes ["["] "previous run of the thread, then of the thread before" => |app| app.go_to_run(-1, "this is the first run");
            NextRun = "next-run" Panes ["]"] "next run of the thread, then of the thread after" => |app| app.go_to_run(1, "this is the last run");
            PreviousStage = "previous-stage" Panes ["{"] "show the previous stage of the run" => |app| app.go_to_stage(-1);
            NextStage = "next-stage" Panes ["}"] "show the next stage of the run" => |app| app.go_to_stage(1);
            RewriteFollowUps = "rewrite-follow-ups" Panes ["t"] "rewrite follow-up questions to stand alone, or use them as asked" => App::toggle_follow_ups;
            EditWording = "edit-wording" Panes ["T"] "edit the wording of a follow-up question" => App::edit_wording;
            Prompts = "prompts" Panes ["p"] "show the exact prompt of every model call" => |app| app.open(overlays::Prompts);
            Utility = "utility" Panes ["w"] "measure how much the context helped, chunk by chunk" => App::open_utility;
            MeasureContext = "measure-context" Panes ["d"] "ask again and measure whether the model understands the context" => App::measure_context;
            ReadAttention = "read-attention" Panes ["A"] "ask again and read the attention, then leave out each chunk" => App::read_attention;
            Diagnose = "diagnose" Panes ["D"] "find out where the answer went wrong" => App::open_diagnosis;
            Variants = "variants" Panes ["v"] "try variants of the run: other chunks, another prompt" => App::open_variants;
            Comparison = "comparison" Panes ["c"] "compare the runs of this question" => |app| app.open(overlays::Comparison);
            Settings = "settings" Panes ["s"] "change a setting or the preset" => |app| app.open_list(overlays::Settings);
            Models = "models" Panes ["M"] "choose or download a model" => App::open_models;
            Sessions = "sessions" Panes ["S"] "find, resume, play or rename a thread of the history of runs" => App::open_sessions;
            IndexReport = "index-report" Panes ["I"] "show what was indexed and what was skipped" => |app| app.open(overlays::Report);
            Log = "log" Panes ["L"] "show warnings and errors" => App::open_log;
            Save = "save" Panes ["X"] "export the run as Markdown" => App::save_run;
            SaveThread = "save-thread" Panes ["ctrl-s"] "export the thread as Markdown" => App::save_thread;
            SaveScreen = "save-screen" Panes ["E"] "save the screen as text" => App::save_screen;
            SavePicture = "save-picture" Panes ["P"] "save the screen as an SVG picture" => App::save_picture;
            Reindex = "reindex" Panes ["u"] "update the index" => |app| app.index_folder(false, "updating the index");
            Rebuild = "rebuild-index" Panes [] "delete the index and rebuild it" => |app| app.index_folder(true, "rebuilding the index");
            Answer = "pane-answer" Panes ["1"] "Answer" => |app| app.focus(Pane::Answer);
            Uncertainty = "pane-uncertainty" Panes ["2"] "Uncertainty" => |app| app.focus(Pane::Uncertainty);
            Retrieval = "pane-retrieval" Panes ["3"] "Retrieval" => |app| app.focus(Pane::Retrieval);
            Links = "pane-links" Panes ["4"] "Links" => |app| app.focus(Pane::Links);
            Refinement = "pane-refinement" Panes ["5"] "Refinement" => |app| app.focus(Pane::Refinement);

            Grow = "grow-pane" Session ["+", "="] "make the pane larger" => |app| app.resize_pane(1);
            Shrink = "shrink-pane" Session ["-"] "make the pane smaller" => |app| app.resize_pane(-1);

            Play = "play" Replay ["space"] "play or pause" => App::play;
            Step = "step" Replay [".", "right"] "next record" => App::step;
            StepBack = "step-back" Replay [",", "left"] "previous record" => App::step_back;
            Faster = "faster" Replay ["+", "="] "double the speed" => |app| app.change_speed(2.0);
            Slower = "slower" Replay ["-"] "halve the speed" => |app| app.change_speed(0.5);
            Restart = "restart" Replay ["0"] "restart from the beginning" => App::restart;

            Choose = "choose" Choosing ["enter", "space"] "choose or change the selected item" => App::choose;
            ChangeBack = "change-back" Settings ["left", "h"] "previous value" => |app| app.act_or(Action::ChangeBack, "select a setting first");
            ResetSetting = "reset-setting" Settings ["backspace", "delete"] "reset this setting" => |app| app.act_or(Action::ResetSetting, "select a setting first");
            RunChanged = "run-changed" Settings ["r"] "run the question again with these settings" => App::again;

            PlayRun = "play-run" Threads ["p"] "play the run from its beginning" => |app| app.act_or(Action::PlayRun, "select a run first");
            RenameThread = "rename-thread" Threads ["R"] "rename this thread" => |app| app.act_or(Action::RenameThread, "select a thread first");

            SwitchSource = "switch-source" Source ["v"] "show the text as it is, or rendered" => |app| app.act(Action::SwitchSource);
            ShowPage = "show-page" Source ["p"] "show the page as a picture" => |app| app.act(Action::ShowPage);

            Accept = "accept" Field ["enter"] "accept" => App::accept;
            FieldUp = "field-up" Field ["up", "ctrl-k"] "previous entry" => |app| app.move_below_input(-1);
            FieldDown = "field-down" Field ["down", "ctrl-j"] "next entry" => |app| app.move_below_input(1);

            Down = "down" Reading ["j", "down"] "move down" => |app| app.select_by(1);
            Up = "up" Reading ["k", "up"] "move up" => |app| app.select_by(-1);
            Top = "top" Reading ["g", "home"] "go to the top" => App::top;
            Bottom = "bottom" Reading ["G", "end"] "go to the end" => App::bottom;
            HalfDown = "half-page-down" Reading ["ctrl-d"] "scroll down by half a page" => |app| app.scroll_by(|height| height / 2);
            HalfUp = "half-page-up" Reading ["ctrl-u"] "scroll up by half a page" => |app| app.scroll_by(|height| -(height / 2));
            PageDown = "page-down" Reading ["pagedown"] "scroll down by a page" => |app| app.scroll_by(|height| height - 1);
            PageUp = "page-up" Reading ["pageup"] "scroll up by a page" => |app| app.scroll_by(|height| 1 - height);
            Search = "search" Reading ["/"] "search in the pane" => App::open_search;
            NextMatch = "next-match" Reading ["n"] "next match" => |app| app.go_to_match(look::Match::Next);
            PreviousMatch = "previous-match" Reading ["N"] "previous match" => |app| app.go_to_match(look::Match::Previous);
            Copy = "copy" Reading ["y"] "copy the selection, or the answer (OSC 52)" => App::copy;
            Edit = "edit" Reading ["e"] "open the document in $VISUAL or $EDITOR, at the line" => App::edit_source;
            Freeze = "freeze" Reading ["F"] "freeze or resume the display" => App::freeze;
            Mouse = "mouse" Reading ["m"] "turn the mouse off or on (off: select text in the terminal)" => |app| app.take_mouse(!app.ui.mouse);
            PaletteByColon = "commands" Reading [":"] "find a command by name" => |app| app.open_list(overlays::Palette);
            Help = "help" Reading ["?"] "show the keys that work here" => App::open_help;
            Guide = "guide" Reading ["H"] "read the guide" => |app| app.open_guide();
            Quit = "quit" Reading ["q"] "quit, or close the overlay or the replay" => App::quit;

            NextPane = "next-pane" Everywhere ["tab"] "next pane, or complete a path" => |app| app.focus_by(1);
            PreviousPane = "previous-pane" Everywhere ["shift-tab"] "previous pane" => |app| app.focus_by(-1);
            Back = "back" Everywhere ["esc"] "close, stop the run, or leave the input" => App::back;
            NewThread = "new-thread" Everywhere ["ctrl-t"] "begin a new thread with the next question" => App::new_thread;
            Tour = "tour" Everywhere ["ctrl-g"] "take the guided tour, or go to its next stop" => App::tour;
            Palette = "palette" Everywhere ["ctrl-p"] "find a command by name" => |app| app.open_list(overlays::Palette);
            HelpKey = "help-key" Everywhere ["f1"] "show the keys that work here" => App::open_help;
            Suspend = "suspend" Everywhere ["ctrl-z"] "suspend the program: fg continues it" => |app| app.effects.push(Effect::Suspend);
            QuitNow = "quit-now" Everywhere ["ctrl-c"] "empty the question, or quit at once" => App::interrupt;
        }
    };
}
pub(in crate::tui) use action_list;

macro_rules! declare {
    ($($action:ident = $name:literal $context:ident [$($key:literal),*] $doc:literal => $does:expr;)+) => {
        /// An action of the screen.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the keymap file: every action with its keys and its doc.
    fn keymap_toml() -> String {
        let mut text = "# The keys of the screen. Your own file needs only the actions that you change; `ragscope paths` prints where it goes.\n\
                        # Keys are characters (q, G, ?) or names (enter, esc, tab, space, up, pageup, f1), prefixed with ctrl-, alt- and shift-.\n"
            .to_owned();

        for context in Context::ALL {
            text.push_str(&format!("\n# ── {} ──\n", context.title()));
            for info in in_context(*context) {
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

    fn in_context(context: Context) -> impl Iterator<Item = ActionInfo> {
        let all = Action::ALL.iter().map(|action| action.info());
        all.filter(move |info| info.context == context)
    }

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
