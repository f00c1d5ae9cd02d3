//! The metadata of a GGUF file as an answer to two questions: the role of the model, and whether it
//! is a whole one.

use std::path::{Path, PathBuf};

use super::error::{LlmError, Result};
use super::gguf::Metadata;
use crate::event::ModelRole;

/// Value of `<architecture>.pooling_type` in llama.cpp for the scores of a pair; 0 is none, 1 mean,
/// 2 first token, 3 last token.
const POOLING_RANK: u64 = 4;

/// Metadata key of the role, in our files whose architecture does not show it.
const ROLE_KEY: &str = "ragscope.role";

/// Architectures that turn text into vectors and never write any.
#[rustfmt::skip]
const ENCODERS: &[&str] = &[
    "bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "modern-bert", "eurobert", "jina-bert-v2",
    "jina-bert-v3", "gemma-embedding", "t5encoder",
];

/// Returns the role that the metadata suggests.
pub(super) fn role(metadata: &Metadata) -> ModelRole {
    // The sentence-level model has the architecture of a generator, but writes nothing.
    if metadata.text(ROLE_KEY) == Some(ModelRole::Linker.name()) {
        return ModelRole::Linker;
    }

    let architecture = metadata.architecture().unwrap_or_default();
    let labels = metadata.class_labels().unwrap_or_default();
    // models of natural language inference name a class `entailment`
    let is_judge = labels
        .iter()
        .any(|label| label.to_lowercase().contains("entail"));

    match metadata.number(&format!("{architecture}.pooling_type")) {
        None | Some(POOLING_RANK) if is_judge => ModelRole::EntailmentJudge,
        None if !labels.is_empty() => ModelRole::Reranker,
        Some(POOLING_RANK) => ModelRole::Reranker,
        Some(1..POOLING_RANK) => ModelRole::Embedder,
        Some(_) | None if ENCODERS.contains(&architecture) => ModelRole::Embedder,
        Some(_) | None => ModelRole::Generator,
    }
}

/// Checks that a model of this role writes text.
///
/// # Errors
/// [`LlmError::Unusable`] with the purpose of the model otherwise.
pub(super) fn check_writes(file: &Path, role: ModelRole) -> Result<()> {
    let purpose = match role {
        ModelRole::Generator => return Ok(()),
        ModelRole::Linker => "it reads the vectors of sentences for links",
        ModelRole::Embedder => "it is an embedder, which turns text into vectors",
        ModelRole::Reranker => "it is a reranker, which scores passages",
        ModelRole::EntailmentJudge => "it is an entailment judge, which compares sentences",
    };
    let reason = format!("{purpose} and writes no text");
    Err(LlmError::unusable(file, reason))
}

/// Checks that a file is a model, and that all of its pieces are there.
///
/// # Errors
/// [`LlmError::Unusable`] for a projector and other parts of a model, for a piece of a split model
/// other than the first, and where a piece is missing or damaged.
pub(super) fn check_whole(file: &Path, metadata: &Metadata) -> Result<()> {
    let unusable = |reason: String| Err(LlmError::unusable(file, reason));
    if let Some(part) = part(metadata) {
        return unusable(format!("it is {part}"));
    }

    let pieces = match pieces(file, metadata) {
        Ok(pieces) => pieces,
        Err(reason) => return unusable(reason),
    };
    let count = pieces.len();
    for (number, piece) in (1..).zip(&pieces) {
        if piece == file {
            continue;
        }
        let name = file_name(piece);
        match Metadata::read(piece) {
            Ok(_) => {}
            Err(LlmError::Unusable { reason, .. }) => {
                return unusable(format!("piece {number} of {count}, {name}: {reason}"));
            }
            Err(_) => return unusable(format!("piece {number} of {count} is missing: {name}")),
        }
    }
    if let Some(first) = pieces.first().filter(|first| *first != file) {
        let name = file_name(first);
        return unusable(format!(
            "it is a piece of a split model that begins with {name}"
        ));
    }
    Ok(())
}

/// Returns whether a file is named as a piece of a split model that an earlier piece beside it
/// stands for.
pub(super) fn is_later_piece(file: &Path) -> bool {
    let name = file_name(file);
    let parts = name.rsplit_once("-of-").and_then(|(stem, count)| {
        let (stem, number) = stem.rsplit_once('-')?;
        // llama-gguf-split names pieces STEM-00001-of-00002.gguf
        let is_number = number.len() == 5 && count.len() == "00002.gguf".len();
        Some((
            stem,
            number.parse::<u32>().ok().filter(|_| is_number)?,
            count,
        ))
    });

    parts.is_some_and(|(stem, number, count)| {
        let mut earlier = 1..number;
        earlier.any(|number| {
            let piece = format!("{stem}-{number:05}-of-{count}");
            file.with_file_name(piece).exists()
        })
    })
}

/// Returns the files of a split model in their order; none for a model in one file.
///
/// # Errors
/// A reason where the file is not named as llama.cpp names a piece, by which it finds the others.
pub(super) fn pieces(file: &Path, metadata: &Metadata) -> Result<Vec<PathBuf>, String> {
    let count = metadata.number("split.count").unwrap_or(1);
    // split.no counts from 0, the names from 1
    let number = metadata.number("split.no").unwrap_or(0).saturating_add(1);
    if count < 2 {
        return Ok(Vec::new());
    }

    let ending = |number: u64| format!("-{number:05}-of-{count:05}.gguf");
    let name = file_name(file);
    let stem = name.strip_suffix(&ending(number)).ok_or_else(|| {
        let ending = ending(number);
        format!("it is piece {number} of {count}, whose name must end with {ending}")
    })?;
    let piece = |number| file.with_file_name(format!("{stem}{}", ending(number)));
    Ok((1..=count).map(piece).collect())
}

/// Returns the kind of a part of a model, which is not a model by itself.
fn part(metadata: &Metadata) -> Option<&'static str> {
    match metadata.text("general.type") {
        Some("mmproj" | "projector") => Some("a projector, which reads pictures for another model"),
        Some("adapter") => Some("an adapter, which changes another model"),
        Some("imatrix") => Some("a list of weights by importance"),
        Some(_) | None if metadata.architecture() == Some("clip") => {
            Some("a projector, which reads pictures for another model")
        }
        Some(_) | None => None,
    }
}

fn file_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn put(file: &Path, bytes: impl AsRef<[u8]>) {
        std::fs::write(file, bytes).expect("written");
    }

    /// A GGUF file without tensors: magic, version 3, no tensors, text and number values.
    pub fn gguf(texts: &[(&str, &str)], numbers: &[(&str, u32)]) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend(((texts.len() + numbers.len()) as u64).to_le_bytes());
        let string = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        for (key, text) in texts {
            string(&mut bytes, key);
            bytes.extend(8u32.to_le_bytes());
            string(&mut bytes, text);
        }
        for (key, number) in numbers {
            string(&mut bytes, key);
            bytes.extend(4u32.to_le_bytes());
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn roles_come_from_metadata() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("m.gguf");
        let cases = [
            ("llama", None, Some(ModelRole::Generator)),
            ("qwen3", Some(3), Some(ModelRole::Embedder)),
            ("bert", None, Some(ModelRole::Embedder)),
            ("bert", Some(4), Some(ModelRole::Reranker)),
            ("nomic-bert", Some(1), Some(ModelRole::Embedder)),
            ("clip", None, None),
        ];
        for (architecture, pooling, expected) in cases {
            let key = format!("{architecture}.pooling_type");
            let numbers: Vec<_> = pooling.iter().map(|value| (key.as_str(), *value)).collect();
            put(
                &file,
                gguf(&[("general.architecture", architecture)], &numbers),
            );
            let metadata = Metadata::read(&file).expect("readable");
            assert_eq!(
                part(&metadata).is_none().then(|| role(&metadata)),
                expected,
                "{architecture} {pooling:?}"
            );
        }
    }

    #[test]
    fn the_classes_of_a_classifier_are_its_role() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("m.gguf");
        let cases = [
            (&["LABEL_0"][..], ModelRole::Reranker),
            (
                &["CONTRADICTION", "NEUTRAL", "ENTAILMENT"],
                ModelRole::EntailmentJudge,
            ),
        ];
        for (labels, expected) in cases {
            let mut bytes = gguf(&[("general.architecture", "bert")], &[]);
            let values = bytes[16];
            bytes[16] = values + 1;
            let string =
                |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
            bytes.extend(string("bert.classifier.output_labels"));
            // an array of strings
            bytes.extend(9u32.to_le_bytes());
            bytes.extend(8u32.to_le_bytes());
            bytes.extend((labels.len() as u64).to_le_bytes());
            labels.iter().for_each(|label| bytes.extend(string(label)));
            put(&file, bytes);
            let metadata = Metadata::read(&file).expect("readable");
            assert_eq!(metadata.class_labels().as_deref(), Some(labels));
            assert_eq!(role(&metadata), expected);
        }
    }

    #[test]
    fn only_a_generator_writes_text() {
        assert!(check_writes(Path::new("m.gguf"), ModelRole::Generator).is_ok());
        let error =
            check_writes(Path::new("m.gguf"), ModelRole::Embedder).expect_err("an embedder");
        assert!(
            error.to_string().contains("turns text into vectors"),
            "{error}"
        );
    }
}
