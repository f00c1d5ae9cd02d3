"""A folder of documents about a random world and questions over it, for evaluation: the names are
those that training never uses.
"""

import json
import re

from . import questions
from .contexts import Writer
from .world import World, capital, new_dice

# A world of this scale has about a hundred articles.
SCALE = 3.3
# A question without an answer in the documents: the share of questions beside those asked for.
UNANSWERABLE = 0.2
# More facts than there are about an entity.
EVERY = 99


def write(out, seed, count):
    """Write `questions.jsonl` and `corpus/`, one document per entity, and return a summary.

    Half of the `count` questions need one fact, half two. A fifth more ask for a fact that no
    document states.
    """
    dice = new_dice(seed)
    world = World(dice, evaluation=True, scale=SCALE)
    answerable = [*_one_hop(world, count - count // 2), *_two_hop(world, count // 2)]
    hidden = _hidden(world, answerable, round(count * UNANSWERABLE))

    writer, written, places = Writer(world), [], {}
    for subject in world.by_subject:
        facts = [fact for fact in writer.about(subject, EVERY) if fact not in hidden]
        if not facts:
            continue
        name = re.sub(r"\W+", "-", subject).strip("-").lower() + ".md"
        text = " ".join(writer.sentences(facts[at : at + 2]) for at in range(0, len(facts), 2))
        places |= {fact: {"file": name, "quote": _sentence_about(fact, text)} for fact in facts}
        written.append((name, f"# {capital(subject)}\n\n{text}\n"))

    lines = [_line(question, [places[step] for step in question.steps]) for question in answerable]
    lines += [_line(questions.one_hop(dice, fact), [], "unanswerable") for fact in hidden]
    dice.shuffle(lines)
    (out / "corpus").mkdir(parents=True, exist_ok=True)
    for name, text in written:
        (out / "corpus" / name).write_text(text)
    rows = (json.dumps({"id": f"w{at:03}", **line}) for at, line in enumerate(lines, 1))
    (out / "questions.jsonl").write_text("".join(row + "\n" for row in rows))
    return f"{len(lines)} questions over {len(written)} documents: {out}"


def _one_hop(world, count):
    return [questions.one_hop(world.dice, fact) for fact in world.dice.sample(world.facts, count)]


def _two_hop(world, count):
    return [questions.two_hop(world.dice, *pair) for pair in world.dice.sample(world.chains(), count)]


def _hidden(world, asked, count):
    """Return facts that the documents leave out: none that an answer needs."""
    needed = {step for question in asked for step in question.steps}
    return world.dice.sample([fact for fact in world.facts if fact not in needed], count)


def _sentence_about(fact, text):
    sentences = re.split(r"(?<=[.!?])\s+", text)
    return next(one for one in sentences if re.search(rf"\b{re.escape(fact.object)}\b", one, re.I))


def _line(question, evidence, kind=None):
    answers = [] if kind else [question.answer]
    return {"question": question.text, "answers": answers, "kind": kind or question.kind, "evidence": evidence}
