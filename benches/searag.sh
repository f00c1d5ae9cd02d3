#!/bin/sh
# The figures of SEARAG: sh benches/searag.sh PROGRAM [SPLIT] [LIMIT]
# The three ways to answer, then the ablation of the paper: each writer of queries, and no expansion. The probe comes from assets/probes.
. "$(dirname "$0")/common.sh"
evaluate --set answer.attribution=false --preset closed-book,naive,searag
evaluate --set answer.attribution=false \
  --preset searag-token-entropy,searag-last-sentence,searag-uncertain-sentence,searag-full-history,searag-not-expanded
