"""Write ../questions.jsonl from the fact base, the corpus and the hand-written questions in by_hand.tsv.

    python3 questions.py

Seeded: the same corpus gives the same file. Every quote is taken from the document that it names.
"""
import collections
import json
import random
import re

from check import HERE, documents, facts, statements
from wordings import OBJECT_KIND, RELATIONS, SUBJECT_KIND

WANTED = {"one-hop": 100, "two-hop": 80, "comparison": 40, "two-places": 40, "unanswerable": 40}
TUNE_SHARE = 3  # one question in three is for tuning

# Relation, question about two subjects, whether the greater value wins.
COMPARISONS = [
    ("light_height", "Which lighthouse is taller, {a} or {b}?", True),
    ("light_year", "Which lighthouse was lit first, {a} or {b}?", False),
    ("town_pop", "Which town has more inhabitants, {a} or {b}?", True),
    ("company_staff", "Which company employs more people, {a} or {b}?", True),
    ("founded_year", "Which company was founded first, {a} or {b}?", False),
    ("ship_launched", "Which ship was launched first, the {a} or the {b}?", False),
    ("ship_sank", "Which ship sank later, the {a} or the {b}?", True),
    ("book_year", "Which book was published first, {a} or {b}?", False),
    ("born_year", "Who was born first, {a} or {b}?", False),
]

# Key relation, the thing it singles out in words, and what can be asked about it: the two facts stand apart in one document.
SINGLED_OUT = [
    ("light_colour", "the lighthouse that shines {o}", ["light_year", "light_keeper"]),
    ("light_island", "the lighthouse on {o}", ["light_year", "light_keeper"]),
    ("light_height", "the lighthouse that is {o} tall", ["light_year", "light_keeper"]),
    ("founder", "the company that {o} founded", ["company_staff", "company_prod"]),
    ("ship_captain", "ship that {o} commanded", ["ship_sank"]),
    ("ship_launched", "ship that was launched in {o}", ["ship_sank"]),
]


def spellings(value):
    """The answers that count as right for a value of the fact base."""
    if value.endswith(" Island"):
        return [value, value.removesuffix(" Island")]
    if value.endswith(" metres"):
        return [value, value.removesuffix(" metres"), value.replace(" metres", " m")]
    if value.isdigit() and len(value) == 4 and not 1800 <= int(value) <= 1999:
        return [value, f"{value[0]},{value[1:]}"]
    return [value]


class Maker:
    def __init__(self):
        self.dice = random.Random(1987)
        self.known, self.texts = facts(), documents()
        self.told = {(subject, relation): value for subject, relation, value in self.known}
        self.places = collections.defaultdict(list)
        for subject, relation, value, file, quote in statements(self.known, self.texts):
            if self.told.get((subject, relation)) == value:
                self.places[subject, relation].append({"file": file, "quote": quote})

    def evidence(self, *keys):
        return [self.places[key][0] for key in keys]

    def ask(self, subject, relation):
        return self.dice.choice(RELATIONS[relation][1]).format(s=subject).replace("the the ", "the ").replace("the The ", "the ")

    def one_hop(self):
        for subject, relation, value in self.shuffled(self.known):
            yield self.ask(subject, relation), spellings(value), self.evidence((subject, relation))

    def two_hop(self):
        for subject, relation, middle in self.shuffled(self.known):
            described, kind = RELATIONS[relation][2], OBJECT_KIND.get(relation)
            nexts = [r for r in RELATIONS if SUBJECT_KIND[r] == kind and (middle, r) in self.told]
            nexts = [r for r in nexts if self.told[middle, r] != subject]
            if described and nexts:
                after = self.dice.choice(nexts)
                question = self.ask(described.format(s=subject), after)
                yield question, spellings(self.told[middle, after]), self.evidence((subject, relation), (middle, after))

    def comparison(self):
        def number(value):
            return int(re.match(r"\d+", value)[0])

        while True:
            relation, wording, greater = self.dice.choice(COMPARISONS)
            (a, va), (b, vb) = self.dice.sample([(s, v) for s, r, v in self.known if r == relation], 2)
            if number(va) != number(vb):
                winner = a if (number(va) > number(vb)) == greater else b
                yield wording.format(a=a, b=b), spellings(winner), self.evidence((a, relation), (b, relation))

    def two_places(self):
        for key, wording, asked in SINGLED_OUT:
            values = collections.Counter(v for _, r, v in self.known if r == key)
            for subject, _, value in [fact for fact in self.known if fact[1] == key and values[fact[2]] == 1]:
                for relation in asked:
                    pair = self.apart(subject, key, relation)
                    if pair:
                        yield self.ask(wording.format(o=value), relation), spellings(self.told[subject, relation]), pair

    def apart(self, subject, key, relation):
        """Evidence for both facts from one document, on different lines."""
        for first in self.places[subject, key]:
            for second in self.places[subject, relation]:
                lines = self.texts[first["file"]].splitlines()
                together = any(first["quote"] in line and second["quote"] in line for line in lines)
                if first["file"] == second["file"] and not together:
                    return [first, second]
        return None

    def unanswerable(self):
        everyone = {subject: SUBJECT_KIND[relation] for subject, relation, _ in self.known}
        married = {value for _, relation, value in self.known if relation == "spouse"}
        gaps = [(s, r) for s, kind in everyone.items() for r in RELATIONS if SUBJECT_KIND[r] == kind and (s, r) not in self.told]
        for subject, relation in self.shuffled(gaps):
            # What a free sentence of the corpus says although the fact base does not is no gap.
            if (relation == "spouse" and subject in married) or relation in ("occ", "held_on"):
                continue
            yield self.ask(subject, relation), [], []

    def by_hand(self):
        """kind, question, answers (separated by |), then file and quote, once or twice."""
        for line in (HERE / "by_hand.tsv").read_text().splitlines():
            if line and not line.startswith("#"):
                kind, question, answers, *places = line.split("\t")
                evidence = [{"file": file, "quote": quote} for file, quote in zip(places[::2], places[1::2])]
                for place in evidence:
                    assert place["quote"] in self.texts[place["file"]], place
                yield kind, question, answers.split("|") if answers else [], evidence

    def shuffled(self, items):
        items = list(items)
        self.dice.shuffle(items)
        return items


def main():
    maker = Maker()
    chosen = collections.defaultdict(dict)
    for kind, question, answers, evidence in maker.by_hand():
        chosen[kind][question] = (answers, evidence)
    sources = {"one-hop": maker.one_hop(), "two-hop": maker.two_hop(), "comparison": maker.comparison(),
               "two-places": iter(maker.shuffled(maker.two_places())), "unanswerable": maker.unanswerable()}
    for kind, source in sources.items():
        while len(chosen[kind]) < WANTED[kind]:
            question, answers, evidence = next(source)
            chosen[kind].setdefault(question, (answers, evidence))
    lines = []
    for kind in WANTED:
        for question, (answers, evidence) in maker.shuffled(chosen[kind].items()):
            split = "tune" if len(lines) % TUNE_SHARE == 0 else "held_out"
            lines.append({"id": f"q{len(lines) + 1:03}", "question": question, "answers": answers, "kind": kind,
                          "evidence": evidence, "split": split})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (HERE.parent / "questions.jsonl").write_text(text)
    print(collections.Counter((line["kind"], line["split"]) for line in lines))


if __name__ == "__main__":
    main()
