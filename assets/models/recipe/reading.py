"""Examples over the passages of SQuAD 2.0: short answers, answers step by step and judgements, of
questions that people asked about a passage, and of questions that it does not answer.

A context is made as retrieval gives it: one to five chunks of 48 to 200 tokens, whole sentences of
the passage and of other passages of the same and of other articles. Questions over one context
share it, which is what makes them affordable on a CPU.
"""

import gzip
import json
import re
from dataclasses import dataclass

from .contexts import Chunk, passages
from .real import holds
from .tasks import NOT_SAID, UNKNOWN, Branch, Group, Tasks, split_at

# Articles of the file that are never trained on.
HELD_OUT = ("Normans", "1973 oil crisis")
# Words of a chunk, the least and the most: 48 to 200 tokens.
CHUNK_WORDS = (35, 130)
# How many chunks of other passages a context has, and the share of them from the same article.
OTHERS, SAME_ARTICLE = (0, 0, 1, 1, 2, 3), 0.5
# Share of contexts that lack a chunk of their passage, whose questions are then unanswered.
LACKING = 0.2
# Of the questions over a context, the share without an answer there: half of them were written to
# look answerable, the others belong to another passage or to a chunk that is lacking.
UNANSWERED = 0.3
# The most questions over one context.
QUESTIONS = 8
# The longest sentence that is copied step by step, in words.
EVIDENCE_WORDS = 40
# Relative frequency of the groups: of these passages, of other questions that people asked, where there are any, and of
# worlds. Answers step by step are what the program asks for by default; a short answer after its question shares no
# context, which makes it the dearest.
READING_MIX = {"read_steps": 36, "read_grounded": 16, "read_short": 10, "read_judged": 6}
REAL_MIX = {"real_steps": 16, "real_grounded": 8, "real_short": 6, "real_judged": 2}
WORLDS = 8
# The same in an examination: how many of each.
EXAMINED = {"read_grounded": 30, "read_short": 120, "read_steps": 30, "read_judged": 20}


@dataclass(frozen=True)
class Passage:
    """A passage with its questions: (question, the answer as the passage spells it, or None)."""

    title: str
    text: str
    asked: tuple


@dataclass(frozen=True)
class Reading:
    """A context with the questions over it: (question, answer, evidence), both None where the
    context has none.
    """

    texts: tuple
    asked: tuple

    def chunks(self):
        return [Chunk((), text) for text in self.texts]


def rows(path):
    """Yield (title, passage, question, answers) of a file of SQuAD 2.0, as it is published (JSON) or
    one question a line (gzip).
    """
    if path.suffix == ".gz":
        with gzip.open(path, "rt") as lines:
            for one in map(json.loads, lines):
                yield one["title"], one["passage"], one["question"], one["answers"]
        return
    for article in json.loads(path.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            for one in paragraph["qas"]:
                answers = [answer["text"] for answer in one["answers"]]
                yield article["title"].replace("_", " "), paragraph["context"], one["question"], answers


def read(path, held_out=False):
    """Return the passages of a file of SQuAD 2.0, in its order: those of the articles held out, or
    all others.
    """
    found = {}
    for title, passage, question, answers in rows(path):
        if (title in HELD_OUT) == held_out:
            # The first answer is that of the question's writer.
            answer = next((" ".join(one.split()) for one in answers), None)
            found.setdefault((title, " ".join(passage.split())), []).append((question.strip(), answer))
    return [Passage(title, text, tuple(asked)) for (title, text), asked in found.items()]


def read_all(paths, held_out=False):
    return [one for path in paths for one in read(path, held_out)]


def sentences(text):
    """Split running text into all its sentences."""
    return re.split(r"(?<=[a-z0-9)\"'%][.!?]) (?=[A-Z\"(])", text)


def chunks_of(text, words):
    """Return the text as chunks of whole sentences, about `words` words each."""
    made, held = [], []
    for sentence in sentences(text):
        if held and len(" ".join([*held, sentence]).split()) > words:
            made.append(" ".join(held))
            held = []
        held.append(sentence)
    return [*made, " ".join(held)]


def evidence(texts, question, answer):
    """Return the sentence of the texts that holds the answer and shares most words with the
    question, or None.
    """
    wanted = set(re.findall(r"\w{4,}", question.lower()))
    holding = [one for text in texts for one in sentences(text) if holds(one, answer) and len(one.split()) <= EVIDENCE_WORDS]
    return max(holding, key=lambda one: len(wanted & set(re.findall(r"\w{4,}", one.lower()))), default=None)


class Reader(Tasks):
    """Makes examples from passages, from other questions that people asked, and from worlds."""

    def __init__(self, dice, articles, worlds=WORLDS, **options):
        super().__init__(dice, **options)
        self.passages = articles
        self.reading_mix = {**READING_MIX, **(REAL_MIX if self.real else {}), None: worlds}
        self.same = {}
        for one in articles:
            self.same.setdefault(one.title, []).append(one)

    def draw(self):
        (maker,) = self.dice.choices(list(self.reading_mix), self.reading_mix.values())
        if maker is None:
            return super().draw()
        self.prepare()
        return getattr(self, maker)()

    def reading(self, count=QUESTIONS, others=OTHERS):
        """Return a random passage's context with at most `count` questions, at least one."""
        while not (made := self.some_reading(count, others)).asked:
            pass
        return made

    def some_reading(self, count, others):
        dice = self.dice
        passage = dice.choice(self.passages)
        own = chunks_of(passage.text, dice.randint(*CHUNK_WORDS))
        lacking = dice.randrange(len(own)) if len(own) > 1 and dice.random() < LACKING else None
        kept = [text for at, text in enumerate(own) if at != lacking]
        texts = kept + [self.other_chunk(passage) for _ in range(dice.choice(others))]
        dice.shuffle(texts)

        answered, unanswered = self.sorted_questions(passage, texts, own if lacking is None else [own[lacking]])
        if dice.random() < 0.5 or not unanswered:
            unanswered += self.foreign_question(passage, texts)
        dice.shuffle(answered)
        dice.shuffle(unanswered)
        # The share is met over many contexts, not in each: a context may have no answer at all.
        without = sum(dice.random() < UNANSWERED for _ in range(min(count, max(len(answered), 1))))
        chosen = unanswered[:without] + answered[: count - min(without, len(unanswered))]
        dice.shuffle(chosen)
        return Reading(tuple(texts), tuple(chosen))

    def sorted_questions(self, passage, texts, lost):
        """Return the passage's questions that the texts answer, and those that they do not. One
        whose answer occurs both in the texts and in what was `lost` is neither.
        """
        answered, unanswered = [], []
        whole = set(lost) <= set(texts)
        for question, answer in passage.asked:
            if answer is None:
                unanswered.append((question, None, None))
            elif not any(holds(text, answer) for text in texts):
                unanswered.append((question, None, None))
            elif whole or not any(holds(text, answer) for text in lost):
                answered.append((question, answer, evidence(texts, question, answer)))
        return answered, unanswered

    def other_chunk(self, passage):
        """Return a chunk of another passage, of the same article or of any."""
        dice = self.dice
        near = [one for one in self.same[passage.title] if one != passage] if dice.random() < SAME_ARTICLE else []
        other = dice.choice(near or self.passages)
        return dice.choice(chunks_of(other.text, dice.randint(*CHUNK_WORDS)))

    def foreign_question(self, passage, texts):
        """Return a question about another passage, in a list, or none if the texts may answer it."""
        question, answer = self.dice.choice(self.dice.choice(self.passages).asked)
        if answer is None or any(holds(text, answer) for text in texts) or (question, answer) in passage.asked:
            return []
        return [(question, None, None)]

    def examined(self):
        """Yield groups in a fixed number of each kind, for an examination."""
        for maker, count in EXAMINED.items():
            for _ in range(count):
                yield getattr(self, maker)()

    def read_grounded(self):
        reading = self.reading()
        return self.grounded(
            reading.chunks(),
            [
                (question, "read short" if answer else "read unknown", answer or UNKNOWN)
                for question, answer, _ in reading.asked
            ],
        )

    def read_short(self):
        """Return one question before its context. A context is not shared here, so it is short."""
        reading = self.reading(count=1, others=(0, 0, 1, 1, 2))
        question, answer, _ = reading.asked[0]
        kind = "read short" if answer else "read unknown"
        return self.short_answer(question, reading.chunks(), kind, answer or UNKNOWN)

    def read_steps(self):
        """Return answers that first copy the sentence which holds them."""
        reading = self.reading(count=6)
        shared, rest = split_at("step_by_step", "q", c=f"Context:\n{passages(reading.chunks())}\n")
        # A sentence too long to copy leaves its answer without evidence: only where nothing else is asked.
        asked = [one for one in reading.asked if one[2] or not one[1]] or reading.asked
        return Group(shared, tuple(self.read_step(rest, *one) for one in asked))

    @staticmethod
    def read_step(rest, question, answer, sentence):
        if answer is None:
            return Branch("read steps unknown", rest(question), f"{NOT_SAID} So the answer is {UNKNOWN}.")
        said = f"{sentence} " if sentence else ""
        return Branch("read steps", rest(question), f"{said}So the answer is {answer.rstrip('.')}.")

    def real_steps(self):
        """Return each passage with its own question, whose answer first copies the sentence which holds it,
        sometimes with one that no passage answers.
        """
        dice = self.dice
        found = [self.some_real() for _ in range(dice.choice((1, 2, 3, 3, 4)))]
        texts = [self.real_chunk(passage, answer) for _, passage, answer in found]
        asked = [(question, answer, evidence(texts, question, answer)) for question, _, answer in found]
        question, _, answer = self.some_real()
        if dice.random() < UNANSWERED and not any(holds(text, answer) for text in texts):
            asked.append((question, None, None))
        dice.shuffle(texts)
        context = passages([Chunk((), text) for text in texts])
        shared, rest = split_at("step_by_step", "q", c=f"Context:\n{context}\n")
        asked = [one for one in asked if one[2] or not one[1]] or asked
        return Group(shared, tuple(self.read_step(rest, *one) for one in asked))

    def read_judged(self):
        """Return whether one passage answers its own questions, in one of the program's ways."""
        dice = self.dice
        reading = self.reading(count=6, others=(0,))
        name, yes, no = dice.choice((("self_evaluate", "yes", "no"), ("judge_relevant", "1", "0")))
        text = " ".join(reading.texts)
        shared, rest = split_at(name, "q", c=f"[1] {text}" if name == "self_evaluate" else text)
        kind = "read " + ("self-evaluate" if name == "self_evaluate" else "relevant")
        judged = [(rest(question), yes if answer else no) for question, answer, _ in reading.asked]
        return Group(shared, tuple(Branch(kind, prompt, reply) for prompt, reply in judged))
