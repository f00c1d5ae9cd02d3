#!/bin/sh
# The figures of DENSE and DENSE-RAG: sh benches/dense.sh PROGRAM [SPLIT] [LIMIT]
# First DENSE beside ten samples and log-probabilities on the same answers, then refinement and its ablations.
. "$(dirname "$0")/common.sh"
evaluate --set retriever.k=5 --preset dense-measured --samples 10 --set utility.per_chunk=false
evaluate --set retriever.k=5 --preset naive,dense-not-refined,dense-rag,dense-pruned,dense-not-evaluated,dense-certain
