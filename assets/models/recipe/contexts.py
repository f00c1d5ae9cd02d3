"""Chunks and contexts as the program makes them: two or three sentences, white space folded, one
line per passage.
"""

import re
from dataclasses import dataclass

from .prose import SENTENCES, TAILS
from .world import RELATIONS, capital, say


@dataclass(frozen=True)
class Chunk:
    facts: tuple
    text: str


def wording(dice, fact, value_first=1):
    """Return a statement of the fact by its number. One that gives the value before its entity is
    `value_first` times as likely.
    """
    statements = RELATIONS[fact.relation].statements
    if value_first == 1:
        return dice.randrange(len(statements))
    weights = [value_first if text.index("{o}") < text.index("{s}") else 1 for text in statements]
    return dice.choices(range(len(statements)), weights)[0]


def with_pronoun(sentence, subject, pronoun):
    """Return the sentence with a pronoun for its subject, if it begins with the subject or its
    possessive.
    """
    possessive = {"He": "his", "She": "her", "It": "its"}[pronoun]
    for name in (f"The {subject}", subject):
        if sentence.startswith(name + " "):
            return pronoun + sentence[len(name) :]
    found = re.match(rf"The ([a-z ]+?) of (?:the )?{re.escape(subject)} (.*)", sentence)
    return f"{capital(possessive)} {found[1]} {found[2]}" if found else sentence


def with_tail(dice, sentence):
    return f"{sentence[:-1]}, {dice.choice(TAILS)}."


class Writer:
    """Writes the facts of a world as documents do."""

    def __init__(self, world, value_first=1):
        self.world, self.dice, self.value_first = world, world.dice, value_first

    def chunk(self, facts):
        """Write one chunk of the facts. Consecutive facts of one subject may share a sentence or
        continue with a pronoun.
        """
        style = self.dice.random()
        subject = facts[0].subject
        alone = all(fact.subject == subject for fact in facts)
        if alone and len(facts) > 1 and style < 0.05:
            text = f"# {subject} " + " ".join(f"- {RELATIONS[fact.relation].label}: {fact.object}" for fact in facts)
        elif alone and style < 0.18:
            text = f"# {subject} " + self.sentences(facts)
        else:
            text = self.sentences(facts)
        return Chunk(tuple(facts), text)

    def sentences(self, facts):
        dice, said, last = self.dice, [], None
        by_pronoun = dice.random() < 0.35
        filler = dice.random() < 0.18
        for fact in facts:
            sentence = say(fact, wording(dice, fact, self.value_first))
            if by_pronoun and fact.subject == last:
                sentence = with_pronoun(sentence, fact.subject, self.world.pronoun[fact.subject])
            if dice.random() < 0.04:
                sentence = with_tail(dice, sentence)
            said.append(sentence)
            last = fact.subject
        if filler:
            # Never between a name and its pronoun.
            said.insert(dice.choice((0, len(said))), dice.choice(SENTENCES))
        return " ".join(said)

    def table(self, kind):
        """Write a Markdown table of the entities of a kind, folded into one line; also return its
        facts.
        """
        dice, world = self.dice, self.world
        names = world.things[kind]
        relations = [name for name, one in RELATIONS.items() if one.subject == kind]
        columns = dice.sample(relations, dice.randint(1, 2))
        facts, rows = [], []
        for name in names:
            told = {fact.relation: fact for fact in world.by_subject.get(name, ())}
            if all(column in told for column in columns):
                facts += [told[column] for column in columns]
                rows.append(" | ".join([name] + [told[column].object for column in columns]))
        head = " | ".join([capital(kind)] + [RELATIONS[column].label for column in columns])
        rule = " | ".join(["---"] * (len(columns) + 1))
        return Chunk(tuple(facts), " ".join(f"| {row} |" for row in [head, rule, *rows])) if len(rows) > 1 else None

    def about(self, subject, count, need=(), without=()):
        """Return the facts of an article about a subject: those needed and others, in any order."""
        dice = self.dice
        facts = [fact for fact in self.world.by_subject[subject] if fact not in need and fact not in without]
        chosen = list(need) + dice.sample(facts, min(len(facts), max(0, count - len(need))))
        dice.shuffle(chosen)
        return chosen

    def context(self, need, count, size=3, without=(), tables=0.08, rivals=0.0):
        """Return about `count` chunks with all needed facts and none of `without`. The rest are
        what a search would return: other facts about the same entities and about entities of their
        kind; a share `rivals` of these state for those what is asked.
        """
        dice, world, chunks = self.dice, self.world, []
        waiting = list(need)
        while waiting:
            fact = waiting.pop()
            kind = RELATIONS[fact.relation].subject
            table = self.table(kind) if dice.random() < tables else None
            if table and fact in table.facts and not set(table.facts) & set(without):
                chunks.append(table)
                continue
            together = [other for other in waiting if other.subject == fact.subject and dice.random() < 0.4]
            waiting = [other for other in waiting if other not in together]
            chunks.append(self.chunk(self.about(fact.subject, dice.randint(1, size), [fact, *together], without)))
        subjects = [fact.subject for fact in [*need, *without]]
        for _ in range(20):
            if len(chunks) >= count:
                break
            near = dice.choice(subjects) if subjects else None
            if near and dice.random() < 0.65:
                kind = next(kind for kind, names in world.things.items() if near in names)
                subject = near if dice.random() < 0.35 else dice.choice(world.things[kind])
            else:
                subject = dice.choice(list(world.by_subject))
            told = {fact for chunk in chunks for fact in chunk.facts}
            if subject not in world.by_subject:
                continue
            hidden, rival = set(without) | told, []
            if rivals and dice.random() < rivals:
                asked = {fact.relation for fact in [*need, *without]}
                rival = [fact for fact in world.by_subject[subject] if fact.relation in asked and fact not in hidden][:1]
            facts = self.about(subject, dice.randint(1, size), rival, hidden)
            if facts:
                chunks.append(self.chunk(facts))
        dice.shuffle(chunks)
        return chunks


def passages(chunks):
    """Return the chunks as the lines of a prompt's context."""
    return "\n".join(f"[{label}] {chunk.text}" for label, chunk in enumerate(chunks, 1))


def facts_of(chunks):
    """Return the facts of the chunks, each once, in order: a set would vary the order between runs.
    """
    return dict.fromkeys(fact for chunk in chunks for fact in chunk.facts)
