#!/bin/sh
# The small versions of the papers' tables for benches/papers.md: sh benches/papers.sh PROGRAM MODEL.gguf DATA [OUT]
#
# MODEL is an instruct model, DATA a folder with xquad/xquad.en.json (google-deepmind/xquad),
# nq_oracle/nq-open-oracle.jsonl.gz (nelson-liu/lost-in-the-middle), evouna_nq/NQ.json (wangcunxiang/QA-Eval), and for chains
# of facts hotpotqa/questions.jsonl over the files of hotpotqa/docs, and musique/musique.json (its published records).
# Each report is a file of OUT (target/papers). A command continues with its journal after a stop, and one whose
# report is there is not repeated, so that the same command goes on until all are there. NICE sets the priority.
set -eu
[ $# -ge 3 ] || {
    sed -n '2,9s/^# //p' "$0" >&2
    exit 2
}
program=$1 model=$2 data=$3 out=${4:-target/papers}
mkdir -p "$out"
RAGSCOPE_HOME=${RAGSCOPE_HOME:-$(realpath "$out")/home}
export RAGSCOPE_HOME OMP_WAIT_POLICY=passive
xquad=$data/xquad/xquad.en.json
nq="$data/nq_oracle/nq-open-oracle.jsonl.gz --dataset nq-open --documents asked"
small="--model $model --set generator.context_tokens=4096 --set answer.attribution=off --set chunker.overlap_tokens=0"

report() { # name, then the arguments of eval
    name=$1
    shift
    [ -s "$out/$name.txt" ] && return
    echo "$name"
    nice -n "${NICE:-10}" "$program" eval "$@" >"$out/$name.part"
    mv "$out/$name.part" "$out/$name.txt"
}

# Where the links of chunks are measured, nothing is generated: quotations need no model.
links="$xquad --documents all --limit 100 --preset saki-rag-paper --set filter.kind=off --set reranker.kind=off
    --set retriever.k=5 --set answer.prompt=quotes"
report saki-links $links --sweep linker.kind=off,sentence,neighbours --sweep linker.merge=false,true
report saki-wide $links --set linker.kind=off --set chunker.max_sentences=4
report seper-verdicts-words "$data/evouna_nq/NQ.json" --paper seper:1 --set judge.model=words
report reader "$xquad" --documents question --limit 60 --preset naive $small --set answer.prompt=qa_short --set chunker.max_tokens=128
report seper-verdicts-model "$data/evouna_nq/NQ.json" --paper seper:1 --limit 12 --model "$model" --set generator.context_tokens=4096
for judge in generator words; do
    report "seper-$judge" $nq --limit 30 --paper seper:2 $small --set answer.prompt=qa_short --set judge.model=$judge \
        --set chunker.max_tokens=512 \
        --set retriever.kind=bm25 --set retriever.k=2 --set utility.samples=5
done
report dense-rag $nq --limit 100 --paper dense-rag:9 $small --set retriever.k=2 --set chunker.max_tokens=64 \
    --set understanding.check_rephrasings=off
for k in 3 10; do
    report "chunkrag-naive-$k" "$xquad" --documents all --limit 24 --preset naive $small --set answer.prompt=qa_short \
        --set chunker.max_tokens=128 --set retriever.k=$k
done
report chunkrag-naive-grounded "$xquad" --documents all --limit 24 --preset naive $small --set answer.prompt=qa_grounded \
    --set chunker.max_tokens=128 --set retriever.k=3
report chunkrag "$xquad" --documents all --limit 24 --preset chunkrag-paper $small

# One paragraph a chunk. SEARAG drafts each sentence first, or (searag-first) reads before it writes, as it does for a model
# without a probe.
steps="$small --set chunker.max_tokens=256 --set answer.prompt=step_by_step"
hotpot="$data/hotpotqa/questions.jsonl --corpus $data/hotpotqa/docs --limit 80"
report searag-others $hotpot --preset closed-book,naive $steps
report searag-drafts $hotpot --preset searag $steps --set retriever.at_start=false
report searag-first $hotpot --preset searag $steps --set retriever.at_start=true
report musique "$data/musique/musique.json" --documents all --limit 100 --preset naive,searag $steps --set retriever.at_start=true
report single-facts "$xquad" --documents all --limit 40 --preset naive,searag $steps --set retriever.at_start=true
