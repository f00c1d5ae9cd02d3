#!/bin/sh
# Stage by stage: what links, filters and the reranker do to recall, precision and their product (RESULTS.md, "Which chunks").
#   benches/ablation/run.sh PROGRAM [XQUAD.json]
# PROGRAM is a built ragscope; the JSON file is the English part of XQuAD, whose paragraphs are joined into one document an article.
set -eu
program=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export RAGSCOPE_HOME="$home" OMP_WAIT_POLICY=passive
mkdir -p "$home/config/presets"
cp "$here"/*.toml "$home/config/presets/"
# only what is retrieved counts here: one token of an answer is enough
flags="--set retriever.k=5 --set retriever.keep=10 --set answer.prompt=qa_short --set answer.max_tokens=1 --set answer.attribution=false"
stages=vectors,bm25,hybrid,wide,links-tokens,links-sentence
echo "# Demo corpus, held-out questions"
"$program" eval --demo --split held_out --preset $stages $flags --set chunker.tokens=96
echo "# The same, questions whose evidence lies in two places of a document"
grep '"two-places"' "$here/../../assets/demo/questions.jsonl" > "$home/two-places.jsonl"
"$program" eval "$home/two-places.jsonl" --demo --preset $stages $flags --set chunker.tokens=96
echo "# Filter and reranker, 100 questions"
"$program" eval --demo --split held_out --limit 100 --preset links-sentence,links-filtered,reranked $flags --set chunker.tokens=96 --set linker.relatives=3
echo "# The filter of three grades against all ten chunks, 100 questions"
"$program" eval --demo --split held_out --limit 100 --preset hybrid,graded --set retriever.k=10 --set retriever.keep=10 --set answer.prompt=qa_short --set answer.attribution=false --set chunker.tokens=96
if [ $# -gt 1 ]; then
    echo "# XQuAD, 200 questions"
    python3 - "$2" "$home/xquad" <<'PY'
import json, os, re, sys
os.makedirs(sys.argv[2])
for article in json.load(open(sys.argv[1]))["data"]:
    name = re.sub(r"\W+", "-", article["title"]).strip("-")
    text = "\n\n".join(paragraph["context"] for paragraph in article["paragraphs"])
    open(f"{sys.argv[2]}/{name}.txt", "w").write(f"# {article['title'].replace('_', ' ')}\n\n{text}\n")
PY
    "$program" eval "$2" --corpus "$home/xquad" --limit 200 --preset $stages $flags
fi
