#!/bin/sh
# Stage by stage, what links, filters and the reranker do to recall, precision and their product: sh benches/stages.sh PROGRAM [SPLIT] [LIMIT]
# With XQUAD=xquad.en.json the same over its English part, the paragraphs of each article joined into one document.
# Rows are kept in RAGSCOPE_HOME, so that the same command continues after a stop; without RAGSCOPE_HOME it starts over.
set -eu
program=$1 split=${2:-held_out} limit=${3:-1000}
if [ -z "${RAGSCOPE_HOME:-}" ]; then
  RAGSCOPE_HOME=$(mktemp -d)
  trap 'rm -rf "$RAGSCOPE_HOME"' EXIT
fi
mkdir -p "$RAGSCOPE_HOME/config/presets"
cp "$(dirname "$0")"/presets/*.toml "$RAGSCOPE_HOME/config/presets"
export RAGSCOPE_HOME OMP_WAIT_POLICY=passive
# Asks the demo's questions of the split.
evaluate() { "$program" eval --demo --split "$split" --limit "$limit" "$@"; }
# Only what is retrieved counts here: one token of an answer is enough, save where answers are compared.
found="--set retriever.keep=10 --set answer.prompt=qa_short --set answer.attribution=off"
stages="$found --set retriever.k=5 --set answer.max_tokens=1 --preset vectors,bm25,hybrid,wide,links-tokens,links-sentence"
chunks="--set chunker.max_tokens=96"
echo "# Demo corpus"
evaluate $stages $chunks
echo "# The same, questions whose evidence lies in two places of a document"
grep '"two-places"' "$(dirname "$0")/../assets/demo/questions.jsonl" > "$RAGSCOPE_HOME/two-places.jsonl"
"$program" eval "$RAGSCOPE_HOME/two-places.jsonl" --demo --split "$split" --limit "$limit" $stages $chunks
limit=$((limit < 100 ? limit : 100))
echo "# Filter and reranker"
evaluate $found --set retriever.k=5 --set answer.max_tokens=1 $chunks --preset links-sentence,links-filtered,reranked --set linker.relatives=3
echo "# The filter of three grades against all ten chunks"
evaluate $found --set retriever.k=10 $chunks --preset hybrid,graded
if [ -n "${XQUAD:-}" ]; then
  echo "# XQuAD"
  python3 - "$XQUAD" "$RAGSCOPE_HOME/xquad" <<'PY'
import json, os, re, sys
os.makedirs(sys.argv[2], exist_ok=True)
for article in json.load(open(sys.argv[1]))["data"]:
    name = re.sub(r"\W+", "-", article["title"]).strip("-")
    text = "\n\n".join(paragraph["context"] for paragraph in article["paragraphs"])
    open(f"{sys.argv[2]}/{name}.txt", "w").write(f"# {article['title'].replace('_', ' ')}\n\n{text}\n")
PY
  "$program" eval "$XQUAD" --corpus "$RAGSCOPE_HOME/xquad" --limit "$limit" $stages
fi
