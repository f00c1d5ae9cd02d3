"""Real questions and passages (Natural Questions), so that plain English is learnt besides the
sentences of worlds.
"""

import gzip
import json
import re

from . import documents, stated

PASSAGE_WORDS = 90


def natural_questions(path):
    """Yield (question, gold passage, answers) of the oracle file."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            one = json.loads(line)
            gold = next((ctx for ctx in one["ctxs"] if ctx.get("isgold", ctx.get("hasanswer"))), one["ctxs"][0])
            yield one["question"], gold["text"], one["answers"]


def shorten(passage, answers, dice, words=PASSAGE_WORDS, least=40):
    """Return a run of the passage's words that contains an answer: chunks are shorter than
    Wikipedia's paragraphs.
    """
    split = passage.split()
    if len(split) <= words:
        return passage
    width = dice.randint(least, words)
    starts = range(0, len(split) - width + 1, 8)
    holding = [
        start for start in starts if any(one.lower() in " ".join(split[start : start + width]).lower() for one in answers)
    ]
    start = dice.choice(holding or list(starts))
    return " ".join(split[start : start + width])


def holds(passage, answer):
    """Return whether the passage contains the answer as whole words, ignoring case."""
    return re.search(rf"(?<!\w){re.escape(answer.lower())}(?!\w)", passage.lower()) is not None


def readable(path, held_out=False):
    """Keep those whose passage contains the answer: the question as a sentence, the passage, and
    the answer as the passage spells it. One in twenty is reserved for evaluation.
    """
    for at, (question, passage, answers) in enumerate(natural_questions(path)):
        if (at % 20 == 0) != held_out:
            continue
        passage = " ".join(passage.split())
        # A single letter occurs in any passage.
        here = [one for one in answers if len(one.split()) <= 8 and (len(one) > 1 or one.isdigit()) and one in passage]
        here = [one for one in here if holds(passage, one)]
        if here:
            yield question[:1].upper() + question[1:] + "?", passage, min(here, key=len)


def questions(files, held_out=False, folders=()):
    """Return (question, passage, answer) of real questions; for training also questions made from
    what the passages, and documents below the folders, state.
    """
    asked = [one for file in files for one in readable(file, held_out)]
    if held_out:
        return asked
    passages = dict.fromkeys(
        [*(passage for _, passage, _ in asked), *(one for folder in folders for one in paragraphs(folder))]
    )
    return asked + [(question, passage, answer) for passage in passages for question, answer in stated.questions(passage)]


def paragraphs(folder):
    """Yield the running text of the documents below a folder, in a fixed order."""
    for path in documents.files_below([folder]):
        try:
            found = documents.read(path)
        except (OSError, EOFError):
            continue
        yield from (one for one in found if 40 <= len(one.split()) <= 200)
