"""Documents for learning the order of sentences: files installed on the machine, and articles of
random worlds.
"""

import gzip
import html
import re
from collections import Counter
from pathlib import Path

from .contexts import Writer
from .world import World

SUFFIXES = (".html", ".md", ".rst", ".txt", ".1.gz", ".3.gz", ".5.gz", ".7.gz", ".8.gz", ".md.gz", ".txt.gz")
SMALLEST_BYTES, LARGEST_BYTES = 4_000, 400_000
UNIT_SENTENCES, LEAST_UNITS, MOST_UNITS = 2, 24, 48
WORDS = range(6, 61)
# Some programs install thousands of pages with the same text.
MOST_OF_A_FAMILY, FAMILY_LETTERS = 8, 6


def paragraphs_of_html(text):
    for found in re.findall(r"<(?:p|li|dd)\b[^>]*>(.*?)</(?:p|li|dd)>", text, re.S | re.I):
        yield html.unescape(re.sub(r"<[^>]+>", "", found))


def paragraphs_of_manual(text):
    """Return the running text of a manual page. Requests that set words in bold or italics are
    text, all others end a paragraph.
    """
    lines = []
    for line in text.splitlines():
        request = re.match(r"[.'](\w+)?\s*(.*)", line)
        if request and request[1] in ("B", "I", "BR", "BI", "IR", "RB", "RI", "IB"):
            lines.append(request[2].replace('"', ""))
        elif request:
            yield " ".join(lines)
            lines = []
        else:
            lines.append(line)
    yield " ".join(lines)


def paragraphs_of_text(text):
    for block in re.split(r"\n\s*\n", text):
        if not re.match(r"\s*([#|`>=\-*+.]|\.\.|\s{4})", block):
            yield block


def read(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", "replace")
    if path.name.endswith(".html"):
        found = paragraphs_of_html(text)
    elif re.search(r"\.\d\.gz$", path.name):
        found = paragraphs_of_manual(re.sub(r"\\f.|\\&|\\\(..|\\-", lambda m: "-" if m[0] == "\\-" else "", text))
    else:
        found = paragraphs_of_text(text)
    return [re.sub(r"\s+", " ", paragraph).strip() for paragraph in found]


def units_of(paragraphs):
    """Return pairs of consecutive sentences, of those that look like sentences."""
    sentences = [one for paragraph in paragraphs for one in re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph) if is_prose(one)]
    pairs = [" ".join(sentences[at : at + UNIT_SENTENCES]) for at in range(0, len(sentences) - 1, UNIT_SENTENCES)]
    return list(dict.fromkeys(pairs))


def is_prose(sentence):
    letters = sum(one.isalpha() or one == " " for one in sentence)
    return len(sentence.split()) in WORDS and sentence[-1:] in ".!?" and letters > 0.88 * len(sentence) and len(sentence) < 400


def windows(units, dice):
    """Return runs of neighbouring units, a few per long document."""
    for start in list(range(0, len(units) - LEAST_UNITS + 1, MOST_UNITS))[:4]:
        yield units[start : start + dice.randint(LEAST_UNITS, MOST_UNITS)]


def files_below(folders, smallest=0):
    """Return the document files below a folder that are at least `smallest` bytes long and not too
    large, in a fixed order.
    """
    return sorted(
        path
        for folder in folders
        for path in Path(folder).rglob("*")
        if path.name.endswith(SUFFIXES)
        and path.is_file()
        and not path.is_symlink()
        and smallest < path.stat().st_size < LARGEST_BYTES
    )


def installed(folders, dice, count):
    """Return up to `count` runs of units from files below the folders, each with its source."""
    files = files_below(folders, SMALLEST_BYTES)
    dice.shuffle(files)
    seen, runs, families = set(), [], Counter()
    for path in files:
        if len(runs) >= count:
            break
        family = path.name[:FAMILY_LETTERS]
        families[family] += 1
        if families[family] > MOST_OF_A_FAMILY:
            continue
        try:
            units = units_of(read(path))
        except (OSError, EOFError):
            continue
        if len(units) >= LEAST_UNITS and units[0] not in seen and not seen.update(units[:3]):
            runs += [(str(path), run) for run in windows(units, dice)]
    return runs[:count]


def of_worlds(dice, count, evaluation=False):
    """Return articles about the entities of a world, the facts of an entity together."""
    for _ in range(count):
        world = World(dice, evaluation)
        writer, units = Writer(world), []
        subjects = dice.sample(list(world.by_subject), min(16, len(world.by_subject)))
        for subject in subjects:
            facts = writer.about(subject, dice.randint(2, 6))
            units += [writer.sentences(facts[at : at + 2]) for at in range(0, len(facts), 2)]
        if len(units) >= LEAST_UNITS:
            yield units[:MOST_UNITS]
