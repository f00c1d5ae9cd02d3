"""Write questions.jsonl: questions about the demo corpus to train a probe on, none of which asks what a held-out question of the demo asks,
and behind them some of those held-out questions, to measure it with.

    python3 questions.py

Seeded: the same corpus gives the same file. Facts and wordings are those of ../demo/recipe.
"""
import collections
import itertools
import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).parent
DEMO = HERE.parent / "demo"
sys.path.insert(0, str(DEMO / "recipe"))
from questions import Maker  # noqa: E402

WANTED = {"one-hop": 120, "two-hop": 64, "comparison": 24, "two-places": 16, "unanswerable": 16}
TRIES = 4000
TRAINED, MEASURED = 130, 3  # so many to train on; one in so many held-out ones to measure with


def asked(question, evidence):
    """What a question asks, whatever its wording: the places that answer it; of an unanswerable one the question itself."""
    return frozenset(place["quote"] for place in evidence) or question


def main():
    known = [json.loads(line) for line in (DEMO / "questions.jsonl").read_text().splitlines()]
    taken = {asked(line["question"], line["evidence"]) for line in known if line["split"] == "held_out"}
    texts = {line["question"] for line in known}
    maker = Maker()
    maker.dice = random.Random(2026)
    sources = {
        "one-hop": itertools.chain.from_iterable(maker.one_hop() for _ in range(4)),
        "two-hop": itertools.chain.from_iterable(maker.two_hop() for _ in range(4)),
        "comparison": itertools.islice(maker.comparison(), TRIES),
        "two-places": itertools.chain.from_iterable(maker.shuffled(maker.two_places()) for _ in range(4)),
        "unanswerable": maker.unanswerable(),
    }
    lines = []
    for kind, source in sources.items():
        count = 0
        for question, answers, evidence in source:
            if count == WANTED[kind]:
                break
            if question not in texts and asked(question, evidence) not in taken:
                texts.add(question)
                count += 1
                lines.append({"id": f"p{len(lines) + 1:03}", "question": question, "answers": answers, "kind": kind,
                              "evidence": evidence, "split": "train"})
    random.Random(2026).shuffle(lines)
    lines = lines[:TRAINED] + [line for line in known if line["split"] == "held_out"][::MEASURED]
    (HERE / "questions.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    print(collections.Counter((line["split"], line["kind"]) for line in lines))


if __name__ == "__main__":
    main()
