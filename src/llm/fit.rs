//! Counts the layers of a model that the memory of devices holds.
//!
//! llama.cpp keeps the input layer on the CPU, and places the last layers on devices, the output
//! layer with them. A layer has its weights and its part of the KV cache; besides, a device holds
//! the results between layers. What these take is llama.cpp's own measurement where it gives one
//! ([`super::ffi::reserve`]).

use super::gguf::Weights;

/// The part of a device's memory that models leave free: drivers, other programs and the copies
/// that a back end makes need some.
const SPARE_SHARE: u64 = 16;
/// More is never left free.
const MAX_SPARE_BYTES: u64 = 1 << 30;
/// Tokens of context below which layers go to the CPU in place of a shorter context.
const MIN_CONTEXT_TOKENS: u32 = 8192;

/// The memory that a model takes on the devices.
#[derive(Debug, Clone)]
pub(super) struct Need<'a> {
    pub weights: &'a Weights,
    /// Bytes that one token takes in the KV cache of one layer.
    pub cell_bytes: u64,
    /// Bytes of the results between layers, on each device.
    pub compute_bytes: u64,
}

impl Need<'_> {
    /// Returns the bytes of the last `layers` layers and the output layer, on one device.
    pub fn bytes(&self, layers: u32, context_tokens: u32) -> u64 {
        let count = layers as usize;
        // llama.cpp puts the last layers on the device, and the first ones stay on the CPU
        let first = self.weights.layers.len().saturating_sub(count);
        let weights: u64 = self.weights.layers[first..].iter().sum();
        let cells = u64::from(context_tokens).saturating_mul(self.cell_bytes);
        weights
            .saturating_add(self.weights.output)
            .saturating_add(cells.saturating_mul(u64::from(layers)))
            .saturating_add(self.compute_bytes)
    }

    /// Returns the maximum number of layers in this room; 0 where not even one fits.
    pub fn layers_in(&self, room_bytes: u64, context_tokens: u32) -> u32 {
        let all = u32::try_from(self.weights.layers.len()).unwrap_or(u32::MAX);
        (0..=all)
            .rev()
            .find(|layers| self.bytes(*layers, context_tokens) <= room_bytes)
            .unwrap_or(0)
    }

    /// Returns the longest context that fits beside all layers, in whole `step`s and at most
    /// `wanted`. A model whose attention is read has a second KV cache: the first takes at most
    /// half of what the weights leave.
    pub fn context_in(&self, room_bytes: u64, wanted: u32, step: u32) -> u32 {
        let all = u32::try_from(self.weights.layers.len()).unwrap_or(u32::MAX);
        let free = room_bytes.saturating_sub(self.bytes(all, 0)) / 2;
        let token = self.cell_bytes.saturating_mul(u64::from(all)).max(1);
        let fitting = u32::try_from(free / token).unwrap_or(u32::MAX);
        if fitting >= wanted {
            return wanted;
        }
        let least = wanted.min(MIN_CONTEXT_TOKENS);
        (fitting / step * step).max(least)
    }
}

/// Returns what models may take of a device with this memory.
pub(super) fn room_bytes(free_bytes: u64, memory_bytes: u64) -> u64 {
    free_bytes.saturating_sub((memory_bytes / SPARE_SHARE).min(MAX_SPARE_BYTES))
}

/// Returns the next number of layers to try after an allocation failed: half, and none at last.
pub(super) fn fewer(layers: u32) -> u32 {
    layers / 2
}

/// Returns an estimate of the bytes between layers for one batch, where llama.cpp gives none: the
/// logits of every row, a few rows of the model's width, and without flash attention the weights of
/// all heads.
pub(super) fn compute_bytes(shape: Shape, batch_tokens: u64, context_tokens: u64) -> u64 {
    const ROWS: u64 = 16;
    let row = shape.vocabulary + ROWS * shape.width;
    let attention = if shape.is_unfused {
        2 * shape.heads * context_tokens
    } else {
        0
    };
    let numbers = batch_tokens.saturating_mul(row + attention);
    // llama.cpp computes what is between layers as f32
    numbers.saturating_mul(4)
}

/// The sizes that the results between layers depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub vocabulary: u64,
    pub width: u64,
    pub heads: u64,
    pub is_unfused: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn weights() -> Weights {
        Weights {
            // the layers of a model are not all of a size
            layers: vec![100 * MB, 100 * MB, 100 * MB, 120 * MB],
            output: 50 * MB,
        }
    }

    fn need(weights: &Weights) -> Need<'_> {
        Need {
            weights,
            cell_bytes: 1024,
            compute_bytes: 30 * MB,
        }
    }

    #[test]
    fn layers_fit_as_their_weights_cache_and_results_do() {
        let weights = weights();
        let need = need(&weights);
        // 1024 tokens take 1 MB per layer
        assert_eq!(need.bytes(1, 1024), (120 + 50 + 30 + 1) * MB);
        assert_eq!(need.bytes(4, 1024), (420 + 50 + 30 + 4) * MB);
        for (room, context, layers) in [
            (0, 1024, 0),
            (79 * MB, 1024, 0),
            (200 * MB, 1024, 0),
            (201 * MB, 1024, 1),
            (301 * MB, 1024, 1),
            (302 * MB, 1024, 2),
            (503 * MB, 1024, 3),
            (504 * MB, 1024, 4),
            (u64::MAX, 1024, 4),
            // a longer context leaves room for fewer
            (504 * MB, 8 * 1024, 3),
            (504 * MB, 200 * 1024, 1),
        ] {
            let bytes = room / MB;
            assert_eq!(
                need.layers_in(room, context),
                layers,
                "{bytes} MB, {context}"
            );
        }
    }

    #[test]
    fn the_context_shrinks_before_layers_leave_the_device() {
        let weights = weights();
        let need = need(&weights);
        let fixed = 500 * MB;
        for (room, wanted, context) in [
            (u64::MAX, 131_072, 131_072),
            // half of the rest, 4 KB per token
            (fixed + 128 * MB, 131_072, 16_384),
            (fixed + 127 * MB, 131_072, 16_128),
            // never below what layers would rather be given up for
            (fixed, 131_072, 8192),
            (0, 131_072, 8192),
            (fixed, 2048, 2048),
        ] {
            assert_eq!(
                need.context_in(room, wanted, 256),
                context,
                "{} MB",
                room / MB
            );
        }
    }

    #[test]
    fn some_memory_stays_free() {
        let gb = 1 << 30;
        assert_eq!(room_bytes(2 * gb, 2 * gb), 2 * gb - gb / 8);
        assert_eq!(room_bytes(139 * gb, 140 * gb), 138 * gb);
        assert_eq!(room_bytes(10, 2 * gb), 0);
    }

    #[test]
    fn failures_halve_the_layers_until_none_is_left() {
        let mut tried = vec![33];
        while let Some(layers) = tried.last().copied().filter(|layers| *layers > 0) {
            tried.push(fewer(layers));
        }
        assert_eq!(tried, [33, 16, 8, 4, 2, 1, 0]);
    }

    #[test]
    fn unfused_attention_takes_room_for_every_head() {
        let shape = |is_unfused| Shape {
            vocabulary: 1000,
            width: 100,
            heads: 8,
            is_unfused,
        };
        assert_eq!(compute_bytes(shape(false), 512, 4096), 512 * 2600 * 4);
        let attention = 512 * 2 * 8 * 4096 * 4;
        assert_eq!(
            compute_bytes(shape(true), 512, 4096),
            512 * 2600 * 4 + attention
        );
    }
}
