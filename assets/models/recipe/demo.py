"""The demo's questions as an evaluation. They are never trained on; their tuning split chooses the
mix of tasks.
"""

import html
import json
import random
import re
from pathlib import Path

from . import prompts
from .tasks import UNKNOWN, Branch, Group

DEMO = Path(__file__).resolve().parents[2] / "demo"
# Words of a passage: about the 48 tokens of the demo's chunks.
WORDS = 34


def text_of(file):
    text = (DEMO / "corpus" / file).read_text()
    if file.endswith(".html"):
        text = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<head>.*?</head>", " ", text, flags=re.S)))
    return re.sub(r"\s+", " ", text).strip()


def around(text, quote):
    """Return whole sentences around a quote, up to the length of a passage."""
    quote = re.sub(r"\s+", " ", quote)
    at = text.find(quote)
    sentences = list(re.finditer(r"\S.*?(?:[.!?](?=\s)|$)", text))
    first = next((i for i, one in enumerate(sentences) if one.end() > max(at, 0)), 0)
    last = next((i for i, one in enumerate(sentences) if one.end() >= at + len(quote)), first)
    while True:
        width = sum(len(one[0].split()) for one in sentences[first : last + 1])
        if last + 1 < len(sentences) and width + len(sentences[last + 1][0].split()) <= WORDS:
            last += 1
        elif first > 0 and width + len(sentences[first - 1][0].split()) <= WORDS:
            first -= 1
        else:
            return " ".join(one[0] for one in sentences[first : last + 1])


def questions(split):
    lines = (DEMO / "questions.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if split in (None, one["split"])]


def groups(split="tune", seed=3):
    """Return each question with the passages of its evidence and another one, in the form of
    `qa_short`: one group per accepted spelling.
    """
    dice, files = (
        random.Random(seed),
        sorted(str(path.relative_to(DEMO / "corpus")) for path in (DEMO / "corpus").glob("*/*.*")),
    )
    for one in questions(split):
        found = [around(text_of(place["file"]), place["quote"]) for place in one["evidence"]]
        while len(found) < 2:
            other = text_of(dice.choice(files))
            found.append(around(other, dice.choice(other.split(". "))))
        found = list(dict.fromkeys(found))
        dice.shuffle(found)
        context = "\n".join(f"[{label}] {passage}" for label, passage in enumerate(found, 1))
        prompt = prompts.fill("qa_short", q=one["question"], c=context)
        for spelling in one["answers"] or [UNKNOWN]:
            yield one["id"], Group("", (Branch(f"demo {one['kind']}", prompt, spelling),))
