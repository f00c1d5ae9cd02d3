//! Models: where they run, what they need, their downloads.

use crate::config::AnswerPrompt;
use crate::event::{CorpusCard, MemoryNeed, ModelCard, Prefixes, PullPhase, PullProgress};

use super::numbers::{bytes, time_left};

/// Returns where a model runs: the host of a server, `CPU`, or `CUDA0 32/32 18.4 GB` with the
/// layers on that device and the memory that they take.
pub fn device(card: &ModelCard) -> String {
    if !card.server.is_empty() {
        return card.device.clone();
    }
    if card.gpu_layers == 0 {
        return "CPU".to_owned();
    }
    let layers = format!("{} {}/{}", card.device, card.gpu_layers, card.layers);
    match card.device_bytes {
        0 => layers,
        taken => format!("{layers} {}", bytes(taken)),
    }
}

/// Returns how a model suits the machine; empty where the free memory is not known.
pub fn fit(fits: Option<bool>, is_slow: bool) -> &'static str {
    match fits {
        Some(true) if is_slow => "slow here",
        Some(true) => "fits",
        Some(false) => "too large",
        None => "",
    }
}

/// Returns whether a model fits, with the numbers: `needs 3.7 GB (file 2.5 GB, KV cache 1.2 GB),
/// 6.5 GB are free`.
pub fn memory(need: MemoryNeed, free_bytes: u64) -> String {
    let cache = match need.cache_bytes {
        0 => String::new(),
        cache_bytes => format!(
            " (file {}, KV cache {})",
            bytes(need.file_bytes),
            bytes(cache_bytes)
        ),
    };

    format!(
        "needs {}{cache}, {} are free",
        bytes(need.bytes()),
        bytes(free_bytes)
    )
}

/// The remark about a bundled generator on documents other than the demo's.
pub const PRACTICE: &str = "practice model: often wrong about your own documents";

/// Returns what to expect of answers about other documents than the demo's while the generator is a
/// bundled one.
pub fn practice(prompt: AnswerPrompt) -> &'static str {
    match prompt {
        AnswerPrompt::Auto | AnswerPrompt::Quotes => {
            "Answers are quotations: no model for your own documents is loaded."
        }
        _ => PRACTICE,
    }
}

/// Returns whether a generator answers about documents that it was not made for.
pub fn is_for_practice(generator: &ModelCard, corpus: Option<&CorpusCard>) -> bool {
    generator.practice && corpus.is_none_or(|corpus| !corpus.demo)
}

/// Returns what an embedder reads in front of each text, as `, queries begin with "query: "`; empty
/// for nothing.
pub fn prefixes(prefixes: &Prefixes) -> String {
    let texts = [
        ("queries", &prefixes.query),
        ("documents", &prefixes.document),
    ];
    let said = texts.iter().filter(|(_, prefix)| !prefix.is_empty());
    let said = said.map(|(what, prefix)| format!(", {what} begin with {prefix:?}"));
    said.collect()
}

/// Returns how far a download is, as `1.2 of 2.5 GB, 12.3 MB/s, 2 min 05 s left  Qwen3-4B.gguf`.
pub fn pull_progress(progress: &PullProgress) -> String {
    let mut parts = Vec::new();
    match progress.phase {
        PullPhase::Listing => return format!("asking for the files of {}", progress.reference),
        PullPhase::Waiting => parts.push("waiting for another download of this file".to_owned()),
        PullPhase::Checking => parts.push("checking what is here".to_owned()),
        PullPhase::Downloading => {}
    }

    let done = bytes(progress.done_bytes);
    let total = bytes(progress.total_bytes);
    parts.push(format!("{done} of {total}"));
    let rate = progress.rate_bytes_per_s;
    parts.extend(rate.map(|rate| format!("{}/s", bytes(rate as u64))));
    parts.extend(progress.left_ms.map(time_left));
    format!("{}  {}", parts.join(", "), progress.file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ModelRole;

    #[test]
    fn a_practice_model_quotes_unless_a_prompt_has_it_write() {
        let quotes = "Answers are quotations: no model for your own documents is loaded.";
        assert_eq!(practice(AnswerPrompt::Auto), quotes);
        assert_eq!(practice(AnswerPrompt::Quotes), quotes);
        assert_eq!(practice(AnswerPrompt::Sources), PRACTICE);
    }

    #[test]
    fn a_device_is_named_with_its_layers_and_memory() {
        let card = |device: &str, gpu_layers: u32, device_bytes: u64| -> ModelCard {
            ModelCard {
                layers: 32,
                gpu_layers,
                device: device.to_owned(),
                device_bytes,
                ..ModelCard::unknown(ModelRole::Generator)
            }
        };
        assert_eq!(device(&card("CPU", 0, 0)), "CPU");
        assert_eq!(
            device(&card("CUDA0", 20, 18_400_000_000)),
            "CUDA0 20/32 18.4 GB"
        );
        // recordings of before do not say how much memory was taken
        assert_eq!(device(&card("CUDA0", 32, 0)), "CUDA0 32/32");
    }
}
