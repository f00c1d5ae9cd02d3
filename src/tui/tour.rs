//! The guided tour: its stops, in order. Each has a pane and a few sentences about what is in it,
//! where `{name}` is the key of the action with that name.

use crate::story::Run;

use super::keys::{Action, Keymap};
use super::pane::Pane;
use super::panes;
use super::scene::Scene;

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
    /// The question line, with the suggested question of this number in it. The tour moves on when
    /// one is asked, and the key of the tour asks it.
    Question(usize),
    Pane(Pane),
}

/// The tour of the demo, whose questions are prepared.
const DEMO: &[Stop] = &[
    Stop {
        place: Place::Question(0),
        words: "The documents describe an invented world, so no model knows the answers by heart. A prepared question is in the line \
                below: press {ask} to ask it.",
    },
    RETRIEVAL,
    WRITTEN,
    UNCERTAINTY,
    LINKS,
    Stop {
        place: Place::Question(1),
        words: "The next question needs two facts in a row. Its preset retrieves for a sentence only when the model is uncertain of \
                it: watch sentences being struck through, searched for and written again. Press {ask}.",
    },
    GATE,
    Stop {
        place: Place::Question(2),
        words: "The last question runs with refinement, which takes longer. Press {ask}.",
    },
    REFINEMENT,
    END,
];

/// The tour of other documents: a stop whose subject the run does not have is left out.
const OWN: &[Stop] = &[
    Stop {
        place: Place::Question(0),
        words: "A question about your documents is in the line below. Press {ask} to ask it, or change it first: the stops are about \
                its answer.",
    },
    RETRIEVAL,
    QUOTED,
    WRITTEN,
    UNCERTAINTY,
    GATE,
    LINKS,
    REFINEMENT,
    END,
];

const RETRIEVAL: Stop = Stop {
    place: Place::Pane(Pane::Retrieval),
    words: "Retrieval fills first. Chunks are ranked by their words (bm25) and by their meaning (cosine), and both lists are fused. \
            [1] is in the prompt; \u{2717} is not, with the reason. {down} and {up} select a chunk and show its text.",
};
const WRITTEN: Stop = Stop {
    place: Place::Pane(Pane::Answer),
    words: "The answer is written sentence by sentence, and [1] is the same chunk in every pane. Select a sentence with {down} and \
            {up}: the other panes follow it, {open-source} opens its source, and {prompts} shows the exact prompt.",
};
const QUOTED: Stop = Stop {
    place: Place::Pane(Pane::Answer),
    words: "No model wrote this answer: it quotes or lists your documents. {down} and {up} select a part of it, and {open-source} \
            opens its source.",
};
const UNCERTAINTY: Stop = Stop {
    place: Place::Pane(Pane::Uncertainty),
    words: "Each bar is how unsure the model was of the words of a sentence, on the whole. {zoom} zooms in on the words and tokens \
            of the selected sentence.",
};
const GATE: Stop = Stop {
    place: Place::Pane(Pane::Uncertainty),
    words: "A bar above the threshold makes the gate retrieve. The arrow below it is the sentence that replaced the uncertain one; \
            Retrieval shows the query that was made of it. The rows at the bottom are the stages of the run, with their times.",
};
const LINKS: Stop = Stop {
    place: Place::Pane(Pane::Links),
    words: "Links shows how much attention each sentence paid to each chunk while it was written, and in presets with a linker \
            which chunks of a document belong together.",
};
const REFINEMENT: Stop = Stop {
    place: Place::Pane(Pane::Refinement),
    words: "Each round rephrases every chunk and asks again: where the answer changes, the chunk was not understood, and the \
            context is repaired before the answer is written.",
};
const END: Stop = Stop {
    place: Place::Pane(Pane::Answer),
    words: "That was the tour. {comparison} compares the runs of a question, {utility} measures how much each chunk helped, \
            {settings} changes settings, {sessions} plays recorded runs, and {help} lists the keys.",
};

/// A tour over the open documents.
#[derive(Clone, Copy)]
pub struct Tour<'a> {
    scene: &'a Scene<'a>,
    stops: &'static [Stop],
}

impl<'a> Tour<'a> {
    pub fn new(scene: &'a Scene<'a>) -> Self {
        let is_demo = scene.ui.question.has_prepared();
        let stops = if is_demo { DEMO } else { OWN };
        Self { scene, stops }
    }

    /// Returns the stop that it is at; `None` outside of it.
    pub fn stop(&self) -> Option<Stop> {
        self.stops.get(self.scene.ui.tour?).copied()
    }

    /// Returns the place of the next stop in the list, the first where the tour is not on; `None`
    /// behind the last one.
    pub fn next(&self) -> Option<usize> {
        let first = self.scene.ui.tour.map_or(0, |at| at + 1);
        (first..self.stops.len()).find(|at| self.has_subject(&self.stops[*at]))
    }

    /// Returns its title, with the number of the stop in the demo, where none is left out.
    pub fn title(&self) -> String {
        match self.scene.ui.tour {
            Some(at) if self.stops == DEMO => format!("tour, {} of {}", at + 1, DEMO.len()),
            Some(_) | None => "tour of your documents".to_owned(),
        }
    }

    /// Returns whether the stop that it is at turned out to be about nothing.
    pub fn is_at_nothing(&self) -> bool {
        self.stop().is_some_and(|stop| !self.has_subject(&stop))
    }

    /// Returns whether a stop is about something that there is, or may be.
    fn has_subject(&self, stop: &Stop) -> bool {
        if self.stops == DEMO {
            return true;
        }
        let run = self.scene.settled_run();
        let is_quoted = run.is_some_and(Run::is_quoted);
        match stop.place {
            Place::Question(_) => true,
            _ if *stop == QUOTED => is_quoted,
            _ if *stop == WRITTEN => !is_quoted,
            _ if *stop == GATE => run.is_some_and(|run| run.gate.is_some()),
            Place::Pane(pane) => panes::view(pane).absence(self.scene).is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_stop_is_that_of_an_action() {
        let keymap = Keymap::from_defaults().expect("keys");
        for stop in DEMO.iter().chain(OWN) {
            let words = stop.words(&keymap);
            assert!(!words.contains(['{', '}']), "{words}");
        }
    }

    #[test]
    fn every_pane_is_visited() {
        for pane in Pane::ALL {
            for stops in [DEMO, OWN] {
                let is_visited = stops.iter().any(|stop| stop.place == Place::Pane(pane));
                assert!(is_visited, "{pane:?}");
            }
        }
    }
}
