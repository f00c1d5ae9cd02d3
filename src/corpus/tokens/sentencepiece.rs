//! SentencePiece vocabularies of the `llama` kind: the best scored pair of neighbours is merged
//! first.
//!
//! That is BPE whose merges are the ways to put a token together, in the order of scores, so that
//! the `tokenizers` crate runs it.

use tokenizers::Tokenizer;
use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::normalizers::{NormalizerWrapper, Prepend, Replace, Sequence};

use super::vocabulary::Vocabulary;
use crate::llm::gguf::Metadata;

const SPACE: &str = "\u{2581}";

/// Creates the tokenizer of a SentencePiece vocabulary of the `llama` kind.
pub(super) fn tokenizer(metadata: &Metadata) -> Result<Tokenizer, String> {
    let vocabulary = Vocabulary::new(metadata)?;
    let ids = vocabulary.ids();
    let merges = merges(&vocabulary, &ids);
    let model = BPE::builder()
        .vocab_and_merges(ids, merges)
        .byte_fallback(true)
        .build()
        .map_err(|error| format!("its vocabulary cannot be used: {error}"))?;

    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_normalizer(Some(normalizer(metadata)?));
    Ok(tokenizer)
}

/// Returns the normalizer: spaces become characters of the vocabulary, and most vocabularies begin
/// every text with one.
fn normalizer(metadata: &Metadata) -> Result<NormalizerWrapper, String> {
    let spaces = Replace::new(" ", SPACE)
        .map_err(|error| error.to_string())?
        .into();
    let prefix = metadata
        .flag("tokenizer.ggml.add_space_prefix")
        .unwrap_or(true);
    let first: Option<NormalizerWrapper> = prefix.then(|| Prepend::new(SPACE.to_owned()).into());
    Ok(Sequence::new(first.into_iter().chain([spaces]).collect()).into())
}

/// Returns every way to put a token together from two, the token with the highest score first.
fn merges(vocabulary: &Vocabulary<'_>, ids: &Vocab) -> Merges {
    let mut tokens: Vec<_> = vocabulary.iter().collect();
    tokens.sort_by(|one, other| {
        other
            .score
            .total_cmp(&one.score)
            .then(one.id.cmp(&other.id))
    });

    let splits = tokens.iter().flat_map(|token| {
        let boundaries = token.text.char_indices().skip(1);
        boundaries.map(|(at, _)| token.text.split_at(at))
    });

    let known = splits.filter(|(left, right)| ids.contains_key(*left) && ids.contains_key(*right));
    known
        .map(|(left, right)| (left.to_owned(), right.to_owned()))
        .collect()
}
