"""The articles of XQuAD that no training file has. XQuAD is made from the development set of SQuAD
1.1, whose articles are also those of the development set of SQuAD 2.0: who trains on the one must
not be examined on the other.
"""

import json
import re

from . import reading, real

# Words in a row that make a passage the same as another, whatever else differs.
RUN = 12


def runs(text):
    """Return every run of `RUN` words of a text, in lower case."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}


def is_seen(article, titles, known):
    """Return whether the titles or the runs of words of training files have something of an article.
    """
    texts = (paragraph["context"] for paragraph in article["paragraphs"])
    return article["title"].replace("_", " ") in titles or any(known & runs(text) for text in texts)


def write(xquad, squad, questions, out):
    """Write `questions.json` and `corpus/`, one document an article, and return a summary."""
    # Held-out articles too: what chose the checkpoint is no test of it.
    passages = reading.read_all(squad) + reading.read_all(squad, held_out=True)
    titles = {one.title for one in passages}
    known = set().union(*(runs(one.text) for one in passages))
    known.update(*(runs(passage) for path in questions for _, passage, _ in real.natural_questions(path)))

    file = json.loads(xquad.read_text())
    count = len(file["data"])
    file["data"] = [article for article in file["data"] if not is_seen(article, titles, known)]
    (out / "corpus").mkdir(parents=True, exist_ok=True)
    (out / "questions.json").write_text(json.dumps(file))
    for article in file["data"]:
        name = re.sub(r"\W+", "-", article["title"]).strip("-")
        text = "\n\n".join(paragraph["context"] for paragraph in article["paragraphs"])
        (out / "corpus" / f"{name}.txt").write_text(f"# {article['title'].replace('_', ' ')}\n\n{text}\n")
    return f"{len(file['data'])} of {count} articles were never seen: {out}"
