//! The screen without a terminal: snapshots of every pane and overlay, replay against live, every
//! size, and that keys do what they say.

mod any_state;
mod cuts;
mod keys;
mod scenes;
mod stage;

use std::path::Path;

use ragscope::config::Charset;
use ragscope::event::Record;
use ragscope::trace::{Recorder, read_run};
use ragscope::tui::App;
use ragscope::tui::terminal::TerminalGuard;
use ragscope::tui::theme::Depth;
use ratatui::layout::Rect;

use crate::support::child;
use crate::support::pty::{Left, Terminal};

use scenes::scenes;
use stage::*;

const SIZES: [(u16, u16); 3] = [(200, 60), (100, 30), (60, 16)];

/// A run goes through the recorder, comes back from its file and is played; at every record the
/// screen is, cell for cell, the one that showed the run while it happened.
#[test]
fn a_replayed_run_and_the_live_run_give_the_same_screens() {
    // one composed here, one recorded from the bundled models over the demo corpus
    for name in ["naive.jsonl", "demo.jsonl"] {
        replay_and_live_are_the_same(&run_of(name));
    }
}

fn replay_and_live_are_the_same(records: &[Record]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(folder.path());
    recorder.write(&records[0]).expect("recorded");
    let file = recorder.file().expect("a file").to_owned();
    records[1..]
        .iter()
        .for_each(|record| recorder.write(record).expect("recorded"));
    let read = read_run(&file).expect("read back");
    let mut replayed =
        Screen::with(|options| App::replaying(read, options, Depth::True).expect("a screen"));
    replayed.press("space 0 space");
    let mut live = Screen::new();
    live.press("esc");
    for (count, record) in records.iter().enumerate() {
        live.apply(std::slice::from_ref(record));
        replayed.press(".");
        for (width, height) in SIZES {
            // the input and the status line say how far the replay is
            let panes = Rect::new(0, 0, width, height - 2);
            let (live, replayed) = (live.buffer(width, height), replayed.buffer(width, height));
            for position in panes.positions() {
                assert_eq!(
                    live[position], replayed[position],
                    "{position} after record {count} at {width}x{height}"
                );
            }
        }
    }
}

#[test]
fn a_plain_locale_gets_a_screen_of_ascii() {
    let records = run_of("searag.jsonl");
    for (charset, plain_locale, is_ascii) in [
        (Charset::Auto, true, true),
        (Charset::Ascii, false, true),
        (Charset::Auto, false, false),
        (Charset::Unicode, true, false),
    ] {
        let mut screen = Screen::with(|mut options| {
            options.config.screen.charset = charset;
            options.has_plain_locale = plain_locale;
            App::new(options, Depth::None).expect("a screen")
        });
        screen.apply(&records);
        for (width, height) in SIZES {
            let text = screen.text(width, height);
            assert_eq!(text.is_ascii(), is_ascii, "{charset:?}\n{text}");
            assert!(text.contains("1 Answer"), "{text}");
        }
    }
}

#[test]
fn every_pane_and_overlay_looks_as_it_did() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, mut screen) in scenes() {
            for (width, height) in SIZES {
                insta::assert_snapshot!(
                    format!("{name}_{width}x{height}"),
                    screen.text(width, height)
                );
            }
        }
    });
}

#[test]
fn too_small_a_screen_says_so_and_waits() {
    let mut screen = answered();
    for (width, height) in [(39, 10), (40, 9), (30, 6)] {
        let text = screen.text(width, height);
        assert!(
            text.contains("ragscope needs 40 x 10") && text.contains("larger"),
            "{text}"
        );
    }
    screen.shows("So the answer is Aldmouth.");
}

#[test]
fn a_small_screen_has_the_question_its_answer_and_the_keys() {
    let mut screen = answered();
    for (width, height) in [(40, 10), (59, 12), (80, 15)] {
        let text = screen.text(width, height);
        let parts = [
            "1 Answer",
            "Mira Oakes",
            "answer  Aldmouth",
            "i to type",
            "? help",
        ];
        let has = parts.map(|one| text.contains(one));
        assert_eq!(has, [true; 5], "{text}");
    }
}

#[test]
fn a_panic_restores_the_terminal_and_is_reported() {
    if child::task().is_some() {
        let _taken = TerminalGuard::new(true).expect("a terminal");
        panic!("on purpose");
    }

    let home = tempfile::tempdir().expect("a folder");
    let suite = std::env::current_exe().expect("this program");
    let name = "a_panic_restores_the_terminal_and_is_reported";
    let terminal = Terminal::start(
        suite.to_str().expect("UTF-8"),
        &child::arguments(module_path!(), name)
            .each_ref()
            .map(String::as_str),
        home.path(),
        (24, 80),
        &[child::variable("panic")],
    );
    // a backtrace may have moved it off the screen
    terminal.wait_for_written("on purpose");
    let (_, left) = terminal.ended();
    assert_eq!(left, Left::CLEAN);
}

#[test]
fn without_colours_there_are_none() {
    let mut screen = Screen::with(|options| App::new(options, Depth::None).expect("a screen"));
    screen.apply(&recorded()).press("esc 3 j j");
    for keys in ["1", "s", "esc /", "esc ctrl-p", "esc f m"] {
        screen.press(keys);
        for cell in &screen.buffer(200, 60).content {
            assert_eq!(
                (cell.fg, cell.bg),
                (Default::default(), Default::default()),
                "{cell:?} after {keys}"
            );
        }
    }
}

#[test]
fn panes_name_no_colour() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui");
    let mut folders = vec![source];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("theme.rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                assert!(
                    !text.contains("Color"),
                    "{} names a colour: give it a role of the theme",
                    path.display()
                );
                let is_evidence = path.ends_with("answer.rs") || path.ends_with("sentences.rs");
                assert!(
                    is_evidence || !text.contains("Tone::Good"),
                    "{} is green, which means supported by evidence alone",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn nothing_is_drawn_when_nothing_changed() {
    let mut screen = answered();
    screen.text(200, 60);
    screen.app.take_changed();
    screen.press("j");
    assert!(screen.app.take_changed());
    assert!(!screen.app.take_changed(), "nothing new to draw");
}
