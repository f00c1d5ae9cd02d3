"""Names of entities that do not exist: most from a lexicon whose words are one token each, some
spelt from syllables.

Copying a name is one step for a small network if the name is one token, and the same token
everywhere. The lexicon is drawn with fixed seeds because the tokenizer was built over it: a change
of a list below makes the tokenizer stale.
"""

import hashlib
import random
from functools import cache
from pathlib import Path

HEADS = (
    "al an ar bel ber bran cal cor dal dan del dor el er fal far fen gal gil gor hal har hol il is jen jor kel kor lan "
    "lor lu mar mel mir "
    "nal nor ol or os pel per quil ral ros sal sel sor tam tel tor ul val ver wal wil yar yel zan zel"
).split()
TAILS = (
    "a ad ak am as ba bin by da den do eth fin go gan ick ida in ka kin la len lis ma mas mir na nis o om ra rick rin ro "
    "sa sen son ta tis ton "
    "us va vin wen ya yn"
).split()


def _lexicon(seed, count, endings=("",)):
    dice, words, seen = random.Random(seed), [], set()
    while len(words) < count:
        word = (dice.choice(HEADS) + dice.choice(TAILS) + dice.choice(endings)).capitalize()
        if len(word) > 3 and word not in seen:
            seen.add(word)
            words.append(word)
    return words


SURNAME_ENDINGS = ("", "", "man", "ley", "den", "ford", "ow", "ell")
TOWN_ENDINGS = ("ton", "haven", "mouth", "by", "stead", "wick", "mere", "field", "port", "gate")
ISLE_ENDINGS = ("ey", "oe", "holm", "sund")
FIRM_ENDINGS = ("co", "ex", "ard", "orn")
LIGHT_ENDINGS = ("ness", "head", "rock", "point")
GIVEN = _lexicon(1, 220)
SURNAMES = [word for word in _lexicon(2, 420, SURNAME_ENDINGS) if word not in GIVEN]
TOWNS = _lexicon(3, 300, TOWN_ENDINGS)
ISLES = _lexicon(4, 90, ISLE_ENDINGS)
FIRMS = _lexicon(5, 120, FIRM_ENDINGS)
LIGHTS = _lexicon(6, 120, LIGHT_ENDINGS)
LEXICON = sorted({*GIVEN, *SURNAMES, *TOWNS, *ISLES, *FIRMS, *LIGHTS})

COMPANY_KINDS = ["Works", "Company", "and Sons", "Trading", "Mills", "Foundry", "Brothers", "Press", "Shipping"]
SHIP_FIRST = (
    "Silver Northern Grey Quiet Brave Golden Winter Lucky Distant Iron Crimson Hollow Bold Gentle Southern Copper Merry "
    "Faithful Summer Blue"
).split()
SHIP_SECOND = (
    "Heron Star Anchor Rose Petrel Lantern Maiden Falcon Wave Compass Thistle Arrow Raven Dolphin Spirit Harvest Crown "
    "Otter Swallow Queen"
).split()
BOOK_OF = ["History", "Birds", "Songs", "Tales", "Letters", "Maps", "Lessons", "Notes", "Memories", "Gardens"]
BOOK_BY = ["Treatise", "Letters", "Notes", "Essays", "Lessons", "Tales", "Songs", "Account", "Diary", "Sketches"]
FESTIVAL_FIRST = (
    "Harvest Herring Snow Plum Barley Drum Candle Cherry Swan Frost Apple River Mask Honey Shell Cloud Thunder Willow "
    "Marble Ribbon"
).split()
FESTIVAL_SECOND = [
    "Fair",
    "Feast",
    "Games",
    "Market",
    "Regatta",
    "Parade",
    "Dance",
    "Supper",
    "Walk",
    "Weeks",
    "Evening",
    "Morning",
]

# One whole name in twenty is reserved for evaluation.
HELD_OUT_ONE_IN = 20
# How often training draws any word, or one that it would rarely see, instead of one of the kind's own list.
SELDOM = 0.1


def held_out(name):
    """Return whether this whole name is reserved for evaluation. Its letters decide, so that it
    never changes.
    """
    return hashlib.sha256(name.encode()).digest()[0] % HELD_OUT_ONE_IN == 0


@cache
def demo_names():
    """Return every name of the demo corpus: no world, in training or evaluation, may use one."""
    table = Path(__file__).resolve().parents[2] / "demo" / "recipe" / "facts.tsv"
    names = set()
    for line in table.read_text().splitlines():
        if line and not line.startswith("#"):
            subject, _, value = line.split("\t")
            names |= {subject, value}
    return {name for name in names if name[:1].isupper()}


@cache
def seldom():
    """Return the words of the lexicon whose only name is reserved for evaluation or the demo: those
    of towns, islands and lighthouses, which have one form of name each. Training uses them in names
    of other kinds, because a network cannot copy a token that it never saw.
    """
    forms = ((TOWNS, "{}"), (ISLES, "{} Island"), (LIGHTS, "{} Light"))
    names = [(word, form.format(word)) for lexicon, form in forms for word in lexicon]
    return [word for word, name in names if held_out(name) or name in demo_names()]


class Names:
    """Draws names without replacement, so that no two entities of a world share one.

    `spelt` is the share of names from outside the lexicon. `evaluation` draws only names that
    training never uses.
    """

    def __init__(self, dice, spelt=0.3, evaluation=False):
        self.dice, self.spelt, self.evaluation, self.used = dice, spelt, evaluation, set()

    def draw(self, kind):
        """Return a new name of a kind, a key of MAKERS."""
        while True:
            name = MAKERS[kind](self)
            if name not in self.used and name not in demo_names() and held_out(name) == self.evaluation:
                self.used.add(name)
                return name

    def word(self, lexicon, endings=("",)):
        """Return a word of the lexicon, or a new one of two to four syllables."""
        dice = self.dice
        if dice.random() >= self.spelt:
            if not self.evaluation and dice.random() < SELDOM:
                return dice.choice(dice.choice((seldom(), LEXICON)))
            # Sometimes a word of another list: a token must be copied in any position.
            return dice.choice(TOWNS + LIGHTS) if dice.random() < 0.03 else dice.choice(lexicon)
        middle = dice.choice(HEADS) if dice.random() < 0.3 else ""
        return (dice.choice(HEADS) + middle + dice.choice(TAILS) + dice.choice(endings)).capitalize()

    def person(self):
        return f"{self.word(GIVEN)} {self.word(SURNAMES, SURNAME_ENDINGS)}"

    def town(self):
        word = self.word(TOWNS, TOWN_ENDINGS)
        return f"{self.dice.choice(['Port', 'Upper', 'New', 'Saint'])} {word}" if self.dice.random() < 0.04 else word

    def island(self):
        word = self.word(ISLES, ISLE_ENDINGS)
        return f"Isle of {word}" if self.dice.random() < 0.05 else f"{word} Island"

    def company(self):
        owner = self.word(FIRMS, FIRM_ENDINGS) if self.dice.random() < 0.8 else self.word(SURNAMES, SURNAME_ENDINGS)
        return f"{owner} {self.dice.choice(COMPANY_KINDS)}"

    def ship(self):
        if self.dice.random() < 0.1:
            return f"{self.word(GIVEN)} {self.word(SURNAMES, SURNAME_ENDINGS)}"
        return f"{self.dice.choice(SHIP_FIRST)} {self.dice.choice(SHIP_SECOND)}"

    def lighthouse(self):
        return f"{self.word(LIGHTS, LIGHT_ENDINGS)} Light"

    def book(self):
        if self.dice.random() < 0.5:
            return f"{self.word(SURNAMES, SURNAME_ENDINGS)} {self.dice.choice(BOOK_BY)}"
        return f"{self.dice.choice(BOOK_OF)} of {self.word(TOWNS, TOWN_ENDINGS)}"

    def festival(self):
        return f"{self.dice.choice(FESTIVAL_FIRST)} {self.dice.choice(FESTIVAL_SECOND)}"

    def school(self):
        return f"{self.word(TOWNS + SURNAMES, SURNAME_ENDINGS)} {self.dice.choice(['School', 'Academy', 'College'])}"

    def bridge(self):
        return f"{self.word(TOWNS + SURNAMES, SURNAME_ENDINGS)} Bridge"


MAKERS = {
    kind: getattr(Names, kind)
    for kind in ("person", "town", "island", "company", "ship", "lighthouse", "book", "festival", "school", "bridge")
}
