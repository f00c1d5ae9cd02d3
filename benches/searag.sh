#!/bin/sh
# The figures of SEARAG: sh benches/searag.sh PROGRAM [SPLIT] [LIMIT]
# The three ways to answer, then the ablation of the paper: each writer of queries, and no expansion. Rows are kept in RAGSCOPE_HOME, so
# that the same command goes on where a stop left it; without RAGSCOPE_HOME it begins anew. The probe comes from assets/probes.
set -eu
program=$1 split=${2:-held_out} limit=${3:-1000}
if [ -z "${RAGSCOPE_HOME:-}" ]; then
  RAGSCOPE_HOME=$(mktemp -d)
  trap 'rm -rf "$RAGSCOPE_HOME"' EXIT
fi
mkdir -p "$RAGSCOPE_HOME/config/presets"
cp "$(dirname "$0")"/presets/*.toml "$RAGSCOPE_HOME/config/presets"
export RAGSCOPE_HOME OMP_WAIT_POLICY=passive
evaluate() { "$program" eval --demo --split "$split" --limit "$limit" --set answer.attribution=false "$@"; }
evaluate --preset closed-book,naive,searag
evaluate --preset searag-token-entropy,searag-last-sentence,searag-uncertain-sentence,searag-full-history,searag-not-expanded
