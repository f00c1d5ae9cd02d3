#!/bin/sh
# The figures of DENSE and DENSE-RAG: sh benches/dense.sh PROGRAM [SPLIT] [LIMIT]
# First DENSE beside ten samples and log-probabilities on the same answers, then refinement and its ablations.
set -eu
program=$1 split=${2:-held_out} limit=${3:-1000}
here=$(dirname "$0")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir -p "$home/config/presets"
cp "$here"/presets/*.toml "$home/config/presets"
export RAGSCOPE_HOME="$home" OMP_WAIT_POLICY=passive
evaluate() { "$program" eval --demo --split "$split" --limit "$limit" --set retriever.k=5 "$@"; }
evaluate --preset dense-measured --samples 10
evaluate --preset naive,dense-measured,dense-not-refined,dense-pruned,dense-not-evaluated,dense-certain,dense-rag
