"""The requirements of a run: packages, memory, files. Reports what is missing and how to get it."""

import importlib.util
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ("torch", "numpy", "tokenizers", "gguf", "safetensors", "blake3")
# Measured peak of a run on the CPU, with a small margin.
GIB = 1 << 30
MEMORY_BYTES = {
    "generator S": 4 * GIB,
    "generator M": 9 * GIB,
    "generator L": 5 * GIB,
    "sentences": 3 * GIB,
    "reranker": 3 * GIB,
    "embedder": GIB,
    "evaluate": 2 * GIB,
    "unseen": GIB,
}


class Missing(SystemExit):
    """Ends the program with a message on standard error."""


def packages():
    lacking = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if lacking:
        raise Missing(f"missing Python packages: {', '.join(lacking)}\n  fix: pip install -r {HERE / 'requirements.txt'}")


def available_memory_bytes():
    """Return the memory available without swapping: of the machine or of this process's control
    group, whichever is less.
    """
    known = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        known.append(int(fields["MemAvailable"].split()[0]) * 1024)
    elif hasattr(os, "sysconf"):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    group = Path("/sys/fs/cgroup/memory.max")
    if group.exists() and group.read_text().strip().isdigit():
        known.append(int(group.read_text()) - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            known.append(limit)
    except ImportError:
        pass
    return min(known, default=None)


def memory(task):
    needed, there = MEMORY_BYTES[task], available_memory_bytes()
    if there is not None and there < needed:
        raise Missing(
            f"{task} needs about {needed / GIB:.0f} GiB of memory and {there / GIB:.1f} GiB is free\n"
            "  fix: close other programs, or take a smaller --size"
        )


def files(paths):
    lacking = [str(path) for path in paths if not Path(path).exists()]
    if lacking:
        raise Missing(f"not found: {', '.join(lacking)}")


def check(task, paths=()):
    packages()
    memory(task)
    files(paths)
