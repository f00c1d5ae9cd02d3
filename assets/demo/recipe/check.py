"""Hold the demo corpus against its fact base: every fact is stated somewhere, and no sentence says otherwise.

    python3 check.py

Needs nothing but Python. Prints what is wrong and exits 1, or prints the counts and exits 0.
"""
import pathlib
import re
import sys

from wordings import RELATIONS, SUBJECT_KIND

HERE = pathlib.Path(__file__).parent
CORPUS = HERE.parent / "corpus"


def facts():
    """[(subject, relation, object)] in the order of facts.tsv."""
    lines = (HERE / "facts.tsv").read_text().splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


def documents():
    """{path inside the corpus: text}, in order of path."""
    files = sorted(path for path in CORPUS.rglob("*") if path.is_file())
    return {path.relative_to(CORPUS).as_posix(): path.read_text() for path in files}


def statements(known, texts):
    """Every sentence in a known wording about a known subject: yields (subject, relation, object as written, file, quote)."""
    subjects = {}
    for subject, relation, _ in known:
        subjects.setdefault(SUBJECT_KIND[relation], set()).add(subject)
    for relation, (wordings, _, _) in RELATIONS.items():
        names = "|".join(re.escape(name) for name in sorted(subjects[SUBJECT_KIND[relation]], key=len, reverse=True))
        objects = sorted({o for _, r, o in known if r == relation}, key=len, reverse=True)
        # Any object of the relation, or else one plain word, so that a wrong one is noticed too.
        values = "|".join(map(re.escape, objects)) + r"|[A-Z][a-z]+ [A-Z][a-z]+|[A-Z][a-z]+|\d+ [a-z]+|\d+|[a-z]+"
        for wording in wordings:
            pattern = re.escape(wording).replace(r"\{s\}", f"(?P<s>{names})").replace(r"\{o\}", f"(?P<o>{values})")
            for file, text in texts.items():
                for match in re.finditer(r"(?<![\w-])" + pattern + r"(?!\w)", text):
                    yield match["s"], relation, match["o"], file, match[0]


def problems(known, texts):
    told = {(subject, relation): value for subject, relation, value in known}
    assert len(told) == len(known), "a fact is given twice"
    mates = {(o, "spouse"): s for s, r, o in known if r == "spouse"}
    stated = set()
    for subject, relation, value, file, quote in statements(known, texts):
        expected = told.get((subject, relation)) or mates.get((subject, relation))
        if relation == "born_in" and value == "the":
            continue
        if value != expected:
            yield f"{file}: “{quote}”, but the fact base has {expected}"
        stated.add((subject, relation))
    for subject, relation in told.keys() - stated:
        yield f"nowhere stated: {subject} {relation} {told[subject, relation]}"


def main():
    known, texts = facts(), documents()
    found = sorted(problems(known, texts))
    print("\n".join(found) if found else f"{len(known)} facts, {len(texts)} documents, all in agreement")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
