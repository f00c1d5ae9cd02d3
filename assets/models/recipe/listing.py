"""The table of files in MODELS.md, against which `ragscope doctor` checks the bundled files."""

import hashlib
from pathlib import Path

import blake3

MODELS = Path(__file__).resolve().parents[1]
HEAD = "| file | bytes | sha256 | blake3 |\n|---|---|---|---|\n"


def row(path):
    data = path.read_bytes()
    return f"| `{path.name}` | {len(data)} | `{hashlib.sha256(data).hexdigest()}` | `{blake3.blake3(data).hexdigest()}` |\n"


def write():
    """Write the checksums of the models in this folder into MODELS.md."""
    page = MODELS / "MODELS.md"
    before, head, after = page.read_text().partition(HEAD)
    rest = after.splitlines(keepends=True)
    while rest and rest[0].startswith("|"):
        rest.pop(0)
    assert head, f"{page} has no table of files"
    page.write_text(before + head + "".join(row(path) for path in sorted(MODELS.glob("*.gguf"))) + "".join(rest))
