"""Questions over facts: about one, a chain of two, a unique entity, a comparison, a count."""

from dataclasses import dataclass

from .world import COMPARISONS, COUNTS, RELATIONS, capital, fill, number_of, say


@dataclass(frozen=True)
class Question:
    """A question. `steps` are the facts that lead to the answer, in the order of a step-by-step
    answer.
    """

    kind: str
    text: str
    steps: tuple
    answer: str


def ask(dice, relation, subject):
    return capital(fill(dice.choice(RELATIONS[relation].questions), subject))


def one_hop(dice, fact):
    return Question("one-hop", ask(dice, fact.relation, fact.subject), (fact,), fact.object)


def two_hop(dice, first, second):
    described = RELATIONS[first.relation].described.format(s=first.subject)
    return Question("two-hop", ask(dice, second.relation, described), (first, second), second.object)


def singled_out(dice, key, asked):
    described = RELATIONS[key.relation].singled_out.format(o=key.object)
    return Question("singled-out", ask(dice, asked.relation, described), (key, asked), asked.object)


def compared(dice, first, second):
    """Return a comparison of two facts of one relation, or None if there is none or they are equal.
    """
    wordings = [(wording, greater) for relation, wording, greater in COMPARISONS if relation == first.relation]
    a, b = number_of(first.object), number_of(second.object)
    if not wordings or a == b:
        return None
    wording, greater = dice.choice(wordings)
    winner = first if (a > b) == greater else second
    return Question("comparison", wording.format(a=first.subject, b=second.subject), (first, second), winner.subject)


def counted(facts):
    """Return a counting question over facts that share relation and object."""
    wording = dict(COUNTS)[facts[0].relation]
    return Question("count", wording.format(o=facts[0].object), tuple(facts), str(len(facts)))


def pairs_to_single_out(facts):
    """Return (key, asked) pairs of facts about one subject whose key has a value that is unique
    among the facts.
    """
    keys = {}
    for fact in facts:
        keys.setdefault((fact.relation, fact.object), []).append(fact)
    return [
        (key[0], asked)
        for key in keys.values()
        if len(key) == 1 and RELATIONS[key[0].relation].singled_out
        for asked in facts
        if asked.subject == key[0].subject and asked.relation != key[0].relation
    ]


def chains(facts):
    return [
        (first, second)
        for first in facts
        if RELATIONS[first.relation].described
        for second in facts
        if second.subject == first.object and second.object != first.subject
    ]


def pairs_to_compare(facts):
    relations = {relation for relation, _, _ in COMPARISONS}
    return [
        (first, second)
        for first in facts
        if first.relation in relations
        for second in facts
        if second.relation == first.relation and second.subject != first.subject
    ]


def groups_to_count(facts):
    groups = {}
    for fact in facts:
        if fact.relation in dict(COUNTS):
            groups.setdefault((fact.relation, fact.object), []).append(fact)
    return list(groups.values())


def steps_of(question, known=None):
    """Return the answer step by step: every fact in its first wording, then the answer. `known`
    replaces facts by guesses.
    """
    told = known or question.steps
    return " ".join(say(fact) for fact in told)


def stepwise(question):
    return f"{steps_of(question)} So the answer is {question.answer}."
