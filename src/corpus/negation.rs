//! Words that turn a statement into its opposite.

/// Words that negate a statement, in lower case.
const NEGATIONS: &[&str] = &[
    "no", "not", "never", "nor", "none", "neither", "cannot", "without", "except", "outside",
    "absence", "nicht", "nie", "niemals", "ohne", "kein", "keine", "keinen", "keiner", "keinem",
    "außer", "pas", "jamais", "sans", "aucun", "aucune", "sauf", "nunca", "sin", "ningún",
    "ninguna", "salvo",
];

/// Returns how many of these words turn a statement into its opposite.
pub fn count_negations<'w>(words: impl Iterator<Item = &'w str>) -> usize {
    let is_negation = |word: &&str| {
        let word = word.to_lowercase().replace('’', "'");
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        NEGATIONS.contains(&word) || word.ends_with("n't") || word.starts_with("non-")
    };
    words.filter(is_negation).count()
}
