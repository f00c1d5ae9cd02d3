//! Any text, any size, any order of events: the screen stays whole and the terminal is never
//! steered.

use crossterm::event::MouseEventKind;
use proptest::prelude::*;
use ragscope::event::{
    Citation, Event, Evidence, Operation, Problem, Record, RunEvent, SessionEvent,
};
use ragscope::tui::save;

use super::stage::*;

#[test]
fn nothing_from_outside_steers_the_terminal() {
    let mut screen = hostile("\u{1b}[31m\u{202e}\u{7f}\t\r\u{9b}2J");
    for keys in [
        "1 j j",
        "3 j j",
        "p",
        "esc S",
        "esc I",
        "esc L",
        "esc 3 j o",
    ] {
        screen.press(keys);
        let buffer = screen.buffer(200, 60);
        for cell in &buffer.content {
            assert!(
                !cell
                    .symbol()
                    .chars()
                    .any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)),
                "{:?} after {keys}",
                cell.symbol()
            );
        }
    }
}

/// A screen over a corpus whose names and texts are all `text`.
fn hostile(text: &str) -> Screen {
    let words = |more: &str| format!("{more}{text}");
    let mut screen = ready();
    let records = recorded().into_iter().map(|mut record| {
        match &mut record.event {
            Event::Run(RunEvent::RunStarted {
                question,
                preset,
                corpus,
                ..
            }) => {
                (*question, *preset) = (words("q"), words("p"));
                if let Some(corpus) = corpus {
                    corpus.folder = words("f");
                }
            }
            Event::Run(RunEvent::QueryWritten { query, writer, .. }) => {
                (*query, *writer) = (words("q"), words("w"));
            }
            Event::Run(RunEvent::RetrievalFinished { retrieval, .. }) => {
                retrieval.query = words("q");
                for hit in &mut retrieval.hits {
                    hit.chunk.document = words("d");
                    hit.chunk.headings = vec![words("h")];
                    hit.chunk.text = words("t");
                }
            }
            Event::Run(RunEvent::ModelCalled {
                purpose, prompt, ..
            }) => (*purpose, *prompt) = (words("p"), words("r")),
            Event::Run(RunEvent::TokenGenerated { text, .. }) => *text = words(" "),
            Event::Run(RunEvent::StepFinished {
                text, citations, ..
            }) => {
                *text = words("s");
                citations
                    .iter_mut()
                    .for_each(|citation| citation.file = words("c"));
                citations.push(Citation {
                    label: 7,
                    chunk: 0,
                    chunk_lines: Some([0, 7]),
                    chunk_place: None,
                    file: words("c"),
                    first_line: 0,
                    last_line: u32::MAX,
                    place: None,
                    quote: Some(words("q")),
                    evidence: Evidence::Marked,
                });
            }
            Event::Run(RunEvent::RunFinished { text, answer, .. }) => {
                (*text, *answer) = (words("t"), words("a"));
            }
            _ => {}
        }
        record
    });
    let records: Vec<Record> = records.collect();
    screen.apply(&records).press("esc");
    screen.session(SessionEvent::Warned {
        text: words("w"),
        advice: Some(words("o")),
    });
    screen.session(SessionEvent::OperationFailed {
        operation: Operation::Ask,
        problem: Problem::new(words("e"), words("a")),
    });
    screen
}

/// An event that may happen to a screen.
#[derive(Debug, Clone)]
enum Happening {
    Key(&'static str),
    Type(String),
    Size(u16, u16),
    Records(usize),
    Progress,
    Report,
    Source,
    Sessions,
    Click(u16, u16),
    Wheel(u16, u16),
}

fn happening() -> impl Strategy<Value = Happening> {
    const KEYS: &[&str] = &[
        "esc",
        "enter",
        "tab",
        "shift-tab",
        "up",
        "down",
        "space",
        "backspace",
        "pagedown",
        "ctrl-p",
        "ctrl-j",
        "ctrl-u",
        "ctrl-d",
        "1",
        "2",
        "3",
        "4",
        "5",
        "j",
        "k",
        "g",
        "G",
        "/",
        "n",
        "N",
        "y",
        "z",
        "f",
        "F",
        "o",
        "i",
        "s",
        "S",
        "p",
        "r",
        "e",
        "m",
        "I",
        "L",
        "[",
        "]",
        "?",
        ":",
        "q",
        "u",
        "h",
        ".",
        ",",
        "+",
        "-",
        "0",
    ];
    prop_oneof![
        10 => prop::sample::select(KEYS).prop_map(Happening::Key),
        2 => "\\PC{0,12}".prop_map(Happening::Type),
        4 => (1_u16..250, 1_u16..80).prop_map(|(width, height)| Happening::Size(width, height)),
        3 => (0_usize..36).prop_map(Happening::Records),
        1 => Just(Happening::Progress),
        1 => Just(Happening::Report),
        1 => Just(Happening::Source),
        1 => Just(Happening::Sessions),
        1 => (0_u16..250, 0_u16..80).prop_map(|(x, y)| Happening::Click(x, y)),
        1 => (0_u16..250, 0_u16..80).prop_map(|(x, y)| Happening::Wheel(x, y)),
    ]
}

fn happens(screen: &mut Screen, size: &mut (u16, u16), happening: &Happening) {
    match happening {
        Happening::Key(key) => _ = screen.press(key),
        Happening::Type(text) => _ = screen.type_text(text),
        Happening::Size(width, height) => *size = (*width, *height),
        Happening::Records(count) => _ = screen.apply(&recorded()[..(*count).min(35)]),
        Happening::Progress => _ = screen.session(progress()),
        Happening::Report => _ = screen.session(report()),
        Happening::Source => _ = screen.session(source()),
        Happening::Sessions => _ = screen.session(sessions()),
        Happening::Click(x, y) => _ = screen.click(*x, *y),
        Happening::Wheel(x, y) => _ = screen.mouse(MouseEventKind::ScrollDown, *x, *y),
    }
    screen.buffer(size.0, size.1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_size_and_no_state_makes_it_panic(text in "\\PC{0,40}", happenings in prop::collection::vec(happening(), 1..40)) {
        let mut screen = hostile(&text);
        let mut size = (80, 24);
        for happening in &happenings {
            happens(&mut screen, &mut size, happening);
        }
    }

    #[test]
    fn wide_signs_never_break_the_frame(text in "[a\u{3042}\u{1f468}\u{200d}\u{1f469}e\u{301}\u{fe0f} -]{0,60}", width in 60_u16..160) {
        let mut screen = hostile(&text);
        screen.press("j");
        for keys in ["1", "3", "p"] {
            let buffer = screen.press(keys).buffer(width, 26);
            for y in 3..20 {
                let edge = buffer[(width - 1, y)].symbol();
                prop_assert!(["│", "▐", "╮", "╯", " "].contains(&edge), "{edge:?} at row {y}\n{}", save::rows(&buffer));
            }
        }
    }
}
