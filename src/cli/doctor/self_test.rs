//! The self-test of an embedder: a file with damaged or untrained weights loads as any other, and
//! its vectors look like any others.

use super::check::Check;
use crate::event::Problem;
use crate::llm::{Embedder, LlmError, dot};

const WHAT: &str = "vectors";
const UNTRAINED: &str = "the file is damaged or untrained, or pools tokens in another way than in training: download it again, or choose another with embedder.model";

/// Questions, a passage that answers each in other words, and one of another topic in much the same
/// words: equal words make vectors near without any training.
const TRIPLES: [[&str; 3]; 8] = [
    [
        "How do I reset a forgotten password?",
        "Choose new login credentials on the account page.",
        "How do I repair a broken bicycle?",
    ],
    [
        "Why does the bread dough rise?",
        "Yeast makes gas, which fills a loaf with bubbles.",
        "Why does the old engine stop?",
    ],
    [
        "When is the next train to the coast?",
        "Railway departures for every seaside station: 8:15 and noon.",
        "When is the next visit to the dentist?",
    ],
    [
        "Which medicine helps against a headache?",
        "Aspirin relieves pain and lowers fever.",
        "Which lawyer helps against a landlord?",
    ],
    [
        "Who won the football match?",
        "Two goals in extra time made their team champion.",
        "Who wrote the piano sonata?",
    ],
    [
        "How deep is the ocean?",
        "Eleven kilometres of water lie above some parts of a sea floor.",
        "How tall is the tower?",
    ],
    [
        "How much did the company earn last year?",
        "Annual revenue and profit: four million dollars.",
        "How much did the baby sleep last night?",
    ],
    [
        "How do cats hunt mice?",
        "A feline creeps up on small rodents and pounces.",
        "How do pilots land planes?",
    ],
];
/// Mean cosine similarity of the passages from which all vectors are alike. Those of trained models
/// reach 0.85.
const ALIKE: f32 = 0.97;
/// Minimum cosine similarity of the vectors of a text in two batches: rounding moves them less.
const SAME: f32 = 0.99;
/// Questions to which the passage that answers is nearer: half of them by chance, and nearly all
/// with a model that knows English.
const BY_CHANCE: usize = 4;
const NEARLY_ALL: usize = 7;

/// Checks that the vectors of an embedder show what a text is about.
pub(super) fn vectors(embedder: &mut dyn Embedder) -> Check {
    match test(embedder) {
        Ok(outcome) => outcome.check(),
        Err(error) => Check::wrong(WHAT, error),
    }
}

struct Outcome {
    /// Questions to which the passage that answers is nearer than the other.
    nearer: usize,
    /// Mean cosine similarity of the passages that answer, which are of as many topics.
    similarity: f32,
    /// Lowest cosine similarity of the vectors of a text in two orders of the same texts.
    reordered: f32,
}

fn test(embedder: &mut dyn Embedder) -> Result<Outcome, LlmError> {
    let questions = embedder.embed_queries(&TRIPLES.map(|[question, ..]| question))?;
    let answers = embedder.embed(&TRIPLES.map(|[_, answer, _]| answer))?;
    let others = embedder.embed(&TRIPLES.map(|[.., other]| other))?;
    let mut backwards = TRIPLES.map(|[_, answer, _]| answer);
    backwards.reverse();
    let backwards = embedder.embed(&backwards)?;

    let rows = questions.iter().zip(&answers).zip(&others);
    let nearer =
        rows.filter(|((question, answer), other)| dot(question, answer) > dot(question, other));
    let pairs = (0..answers.len()).flat_map(|at| (0..at).map(move |before| (at, before)));
    let similarities = pairs.map(|(at, before)| dot(&answers[at], &answers[before]));
    let similarities: Vec<f32> = similarities.collect();
    let same = answers.iter().zip(backwards.iter().rev());

    Ok(Outcome {
        nearer: nearer.count(),
        similarity: similarities.iter().sum::<f32>() / similarities.len() as f32,
        reordered: same.map(|(one, other)| dot(one, other)).fold(1.0, f32::min),
    })
}

impl Outcome {
    fn check(&self) -> Check {
        let Self {
            nearer,
            similarity,
            reordered,
        } = self;
        let questions = TRIPLES.len();
        let found = format!(
            "the passage that answers is nearer for {nearer} of {questions} test questions"
        );
        let wrong = |found: String, advice| Check::wrong(WHAT, Problem::new(found, advice));

        if *reordered < SAME {
            let found = format!(
                "a text has another vector where the texts around it are in another order (cosine similarity {reordered:.2})"
            );
            return wrong(
                found,
                "set embedder.device to cpu, or update the model server",
            );
        }
        if *similarity > ALIKE {
            let found = format!(
                "the vectors of all texts are alike (mean cosine similarity {similarity:.3})"
            );
            return wrong(found, UNTRAINED);
        }
        if *nearer <= BY_CHANCE {
            let found = format!("they do not show what a text is about: {found}");
            return wrong(found, UNTRAINED);
        }
        if *nearer < NEARLY_ALL {
            let advice = "set embedder.query_prefix and embedder.document_prefix as the model card has them; a model that does not know English has no better ones";
            return Check::poor(WHAT, found, advice);
        }
        let found = format!(
            "{found}; passages of different topics have a cosine similarity of {similarity:.2}"
        );
        Check::good(WHAT, found)
    }
}
