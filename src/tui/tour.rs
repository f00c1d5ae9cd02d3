//! The guided tour: its stops, in order. Each has a pane and a few sentences about what is in it,
//! where
//! `{name}` is the key of the action with that name.

use super::keys::{Action, Keymap};
use super::pane::Pane;

/// A stop of the tour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    pub place: Place,
    words: &'static str,
}

impl Stop {
    /// Returns what it says, with the keys of the user.
    pub fn words(&self, keymap: &Keymap) -> String {
        let actions = Action::ALL.iter();
        actions.fold(self.words.to_owned(), |words, action| {
            let name = format!("{{{}}}", action.info().name);
            words.replace(&name, &keymap.sign(*action))
        })
    }
}

/// The place that a stop is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The question line, with the prepared question of this number in it. The tour moves on when
    /// it is asked, and the key of the tour asks it.
    Question(usize),
    Pane(Pane),
}

/// The tour.
pub const STOPS: &[Stop] = &[
    Stop {
        place: Place::Question(0),
        words: "The documents describe an invented world, so no model knows the answers by heart. A prepared question is in the line \
                below: press {ask} to ask it.",
    },
    Stop {
        place: Place::Pane(Pane::Retrieval),
        words: "Retrieval fills first. Chunks are ranked by their words (bm25) and by their meaning (cosine), and both lists are \
                fused. [1] is in the prompt; \u{2717} is not, with the reason. {down} and {up} select a chunk and show its text.",
    },
    Stop {
        place: Place::Pane(Pane::Answer),
        words: "The answer is written sentence by sentence, and [1] is the same chunk in every pane. Select a sentence with {down} \
                and {up}: the other panes follow it, {open-source} opens its source, and {prompts} shows the exact prompt.",
    },
    Stop {
        place: Place::Pane(Pane::Uncertainty),
        words: "Each bar is how unsure the model was of the words of a sentence, on the whole. {zoom} zooms in on the words and \
                tokens of the selected sentence.",
    },
    Stop {
        place: Place::Pane(Pane::Links),
        words: "Links shows how much attention each sentence paid to each chunk while it was written, and in presets with a linker \
                which chunks of a document belong together.",
    },
    Stop {
        place: Place::Question(1),
        words: "The next question needs two facts in a row. Its preset retrieves for a sentence only when the model is uncertain of \
                it: watch sentences being struck through, searched for and written again. Press {ask}.",
    },
    Stop {
        place: Place::Pane(Pane::Uncertainty),
        words: "A bar above the threshold makes the gate retrieve. The arrow below it is the sentence that replaced the uncertain \
                one; Retrieval shows the query that was made of it. The rows at the bottom are the stages of the run, with their \
                times.",
    },
    Stop {
        place: Place::Question(2),
        words: "The last question runs with refinement, which takes longer. Press {ask}.",
    },
    Stop {
        place: Place::Pane(Pane::Refinement),
        words: "Each round rephrases every chunk and asks again: where the answer changes, the chunk was not understood, and the \
                context is repaired before the answer is written.",
    },
    Stop {
        place: Place::Pane(Pane::Answer),
        words: "That was the tour. {comparison} compares the runs of a question, {utility} measures how much each chunk helped, \
                {settings} changes settings, {sessions} plays recorded runs, and {help} lists the keys.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_stop_is_that_of_an_action() {
        let keymap = Keymap::from_defaults().expect("keys");
        for stop in STOPS {
            let words = stop.words(&keymap);
            assert!(!words.contains(['{', '}']), "{words}");
        }
    }

    #[test]
    fn every_pane_is_visited() {
        for pane in Pane::ALL {
            let is_visited = STOPS.iter().any(|stop| stop.place == Place::Pane(pane));
            assert!(is_visited, "{pane:?}");
        }
    }
}
