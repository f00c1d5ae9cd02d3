# Sourced by the scripts of figures: SCRIPT PROGRAM [SPLIT] [LIMIT]. Gives `evaluate`, which asks the demo's questions of the split.
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
evaluate() { "$program" eval --demo --split "$split" --limit "$limit" "$@"; }
