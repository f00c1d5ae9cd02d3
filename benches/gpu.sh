#!/bin/sh
# The figures of a machine with a GPU: sh benches/gpu.sh [MODEL.gguf]
#
# Builds with FEATURES (cuda; or vulkan, metal, rocm), runs the tests of models and those of offloaded layers,
# and prints a table for RESULTS.md: what is offloaded, tokens per second, ten samples of one prompt against
# one, DENSE at k = 5, and a question under dense-rag and under searag. MODEL is the largest one at hand;
# without it, the bundled generator is measured. FEATURES=vulkan DEVICE=software runs all of it on Mesa's
# software device, which proves the script and measures nothing. PROFILE=dev builds faster; TESTS=offloaded runs
# the tests of offloaded layers alone, TESTS=none none.
#
# Everything that the steps print is kept in LOG (target/gpu.log).
set -eu
cd "$(dirname "$0")/.."
features=${FEATURES:-cuda} profile=${PROFILE:-release} device=${DEVICE:-hardware} tests=${TESTS:-all}
log=${LOG:-target/gpu.log}
model=${1:-$PWD/assets/models/ragscope-reader.Q5_0.gguf}
[ -f "$model" ] || {
    echo "No model file $model." >&2
    exit 2
}
model=$(realpath "$model")
mkdir -p "$(dirname "$log")"
: >"$log"

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export RAGSCOPE_HOME="$home" OMP_WAIT_POLICY=passive
case $profile in
dev) built=debug bench_profile=dev ;;
*) built=$profile bench_profile=bench ;;
esac

building() { # runs a command with what the features need to be built
    case $features in
    *vulkan*) .ci/vulkan "$@" ;;
    *) "$@" ;;
    esac
}
with() { # runs a command on the device
    case $features,$device in
    *vulkan*,software) .ci/vulkan --software "$@" ;;
    *) building "$@" ;;
    esac
}
step() { # what is done now, with its command
    name=$1
    shift
    echo "$name: $*" >&2
    echo "== $name: $*" >>"$log"
    if ! "$@" >"$home/out" 2>&1; then
        cat "$home/out" >>"$log"
        tail -n 30 "$home/out" >&2
        echo "$name failed; all of it is in $log." >&2
        exit 1
    fi
    cat "$home/out" >>"$log"
}
row() { echo "| $1 | $2 | $3 | \`$4\` |" >>"$home/table"; }
test_count() { sed -n 's/^test result: ok. \([0-9]*\) passed.*/\1/p' "$home/out" | awk '{n += $1} END {print n + 0}'; }

.ci/prerequisites
step build building cargo build --locked --profile "$profile" --features "$features"
program=$target/$built/ragscope

# doctor exits with 1 where anything could be better
with "$program" doctor --json >"$home/doctor" 2>>"$log" || true
cat "$home/doctor" >>"$log"
gpu=$(sed -n '/"what": "devices"/,/"found"/s/.*"found": "\(.*\)",$/\1/p' "$home/doctor")
echo "devices: $gpu" >&2
case $gpu in
"" | "CPU ("*) # GPUs are listed first
    echo "This build finds no GPU. Check the driver, and FEATURES; all of it is in $log." >&2
    exit 1
    ;;
esac

if [ "$tests" != none ]; then
    step "build of the tests" building cargo test --locked --profile "$profile" --features "$features" --test suite --no-run
    step "offloaded layers" with cargo test --locked --profile "$profile" --features "$features" --test suite -- \
        --ignored --nocapture --test-threads 1 llm::gpu
    row "tests of offloaded layers" "$(test_count) passed" "all" "cargo test --test suite -- --ignored llm::gpu"
fi
if [ "$tests" = all ]; then
    step "models" with cargo test --locked --profile "$profile" --features "$features" --test suite -- llm::
    row "tests of models" "$(test_count) passed" "all" "cargo test --test suite -- llm::"
fi

step "build of the bench" building cargo bench --locked --profile "$bench_profile" --features "$features" --bench llm --no-run
step bench with env BENCH_MODEL="$model" cargo bench --locked --profile "$bench_profile" --features "$features" --bench llm -- \
    generation samples measurement attribution load
offloaded=$(sed -n 's/^generator: .* on //p' "$home/out")
row "device, layers on it, memory" "$offloaded" "all layers" "BENCH_MODEL=$(basename "$model") cargo bench --bench llm"
sed -n 's/^\(generation\|samples\|measurement\|attribution\|load\)  *\([0-9.]*\)  (target \([^)]*\))  \(.*\)/\2|\3|\4/p' "$home/out" |
    while IFS='|' read -r value wanted what; do
        row "$what" "$value" "$wanted" "cargo bench --bench llm"
    done

question="Where was the keeper of the lighthouse born?"
for preset in dense-rag searag full; do
    step "$preset" with "$program" ask assets/demo/corpus "$question" --model "$model" --preset "$preset" \
        --set retriever.k=5 --json
    seconds=$(sed -n 's/.*"type":"run_finished".*"wall_ms":\([0-9]*\).*/\1/p' "$home/out" | tail -n 1 | awk '{printf "%.1f", $1 / 1000}')
    tokens=$(sed -n 's/.*"type":"run_finished".*"tokens_generated":\([0-9]*\).*/\1/p' "$home/out" | tail -n 1)
    row "a question under $preset, k = 5" "$seconds s, $tokens tokens" "" "ragscope ask assets/demo/corpus ... --preset $preset"
done

echo
echo "$gpu; FEATURES=$features, profile $profile, $(basename "$model"), $(date -u +%Y-%m-%d)"
echo
echo "| figure | value | wanted | command |"
echo "|---|---|---|---|"
cat "$home/table"
