//! Labels by llama-server's own interface: how likely a reply begins with each of their spellings.

use std::collections::HashMap;

use super::http::ServerClient;
use super::native::Native;
use crate::llm::error::Result;
use crate::llm::scorer::{LEAD_TOKENS, Spelling, SpellingRow, behind, drop_unlikely, is_lead};

/// The replies to prompts up to where each may name a label.
struct Begun {
    /// The tokens that each has in front of every label.
    leads: Vec<Vec<i32>>,
    /// ln p of the likely tokens behind them.
    first: Vec<HashMap<i32, f32>>,
}

/// Follows the greedy reply to each prompt through the tokens in front of its labels.
fn begun(
    native: &Native,
    client: &ServerClient,
    rendered: &[Vec<i32>],
    spellings: &[Spelling],
) -> Result<Begun> {
    let mut leads = vec![Vec::new(); rendered.len()];
    let mut first = native.next_tokens(client, rendered)?;
    for _ in 0..LEAD_TOKENS {
        let mut led = Vec::new();
        for (at, likely) in first.iter().enumerate() {
            let best = likely.iter().max_by(|a, b| a.1.total_cmp(b.1));
            let longer: Vec<i32> = leads[at]
                .iter()
                .copied()
                .chain(best.map(|best| *best.0))
                .collect();
            if longer.len() > leads[at].len() && is_lead(&longer, spellings) {
                led.push((at, longer));
            }
        }
        if led.is_empty() {
            break;
        }

        let prompts: Vec<Vec<i32>> = led
            .iter()
            .map(|(at, lead)| [rendered[*at].as_slice(), lead].concat())
            .collect();
        for ((at, lead), likely) in led.into_iter().zip(native.next_tokens(client, &prompts)?) {
            leads[at] = lead;
            first[at] = likely;
        }
    }
    Ok(Begun { leads, first })
}

/// Reads each spelling after each prompt, where the reply has its first word. The server gives no
/// other tokens behind the first: a token that more than half of the replies have is the greedy
/// one.
pub(super) fn label_rows(
    native: &Native,
    client: &ServerClient,
    rendered: &[Vec<i32>],
    spellings: &[Spelling],
) -> Result<Vec<SpellingRow>> {
    let Begun { leads, first } = begun(native, client, rendered, spellings)?;

    let mut rows: Vec<SpellingRow> = Vec::with_capacity(rendered.len());
    let mut places = Vec::new();
    let mut owners = Vec::new();
    for (at, (tokens, likely)) in rendered.iter().zip(&first).enumerate() {
        let lead = &leads[at];
        let read = [tokens.as_slice(), lead].concat();

        let top = likely.values().copied().fold(f32::NEG_INFINITY, f32::max);
        let logprob = |spelling: &Spelling| likely.get(behind(lead, spelling)?.first()?).copied();
        let mut row: Vec<f32> = spellings
            .iter()
            .map(|spelling| logprob(spelling).unwrap_or(f32::NEG_INFINITY))
            .collect();

        for (number, spelling) in drop_unlikely(spellings, &mut row) {
            if row[number].is_finite() {
                let rest = behind(lead, spelling).unwrap_or_default();
                let walked = walk(&read, rest).into_iter().skip(1);
                places.extend(walked);
                owners.resize(places.len(), (at, number));
            }
        }

        rows.push(SpellingRow {
            greedy: row
                .iter()
                .map(|logprob| logprob.is_finite() && *logprob >= top)
                .collect(),
            logprobs: row,
        });
    }

    for ((at, number), logprob) in owners.into_iter().zip(native.read_forced(client, &places)?) {
        rows[at].logprobs[number] += logprob;
        rows[at].greedy[number] &= logprob.exp() > 0.5;
    }

    Ok(rows)
}

/// Returns each target with the tokens in front of it.
pub(super) fn walk(prompt: &[i32], targets: &[i32]) -> Vec<(Vec<i32>, i32)> {
    targets
        .iter()
        .enumerate()
        .map(|(at, target)| ([prompt, &targets[..at]].concat(), *target))
        .collect()
}
