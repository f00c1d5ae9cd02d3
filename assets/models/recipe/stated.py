"""Questions made from what sentences of real passages state: the inverted sentence asks, a part of
it answers.

Few questions that people asked are available. Lewis et al. 2019, "Unsupervised Question Answering
by Cloze Translation", showed that generated questions teach reading; here three forms of sentences
are used that need no parser.
"""

import re

MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DATE = rf"(?P<answer>(?:{MONTH}(?: \d{{1,2}},)? |\d{{1,2}} {MONTH} )?(?:1[0-9]|20)\d\d)"
NAME = r"(?:[A-Z][\w'’.-]*|of|the|and|de|von|van|[0-9]+)"
SUBJECT = rf"(?P<subject>(?:The |A |An )?[A-Z][\w'’-]+(?: {NAME})*)"
ACTS = r"(?P<act>was|is|were|are|has|had|can|will|became|won|began|wrote|played|received|founded|released)"
BE = r"(?P<act>was|is|were|are)"
ARTICLES = ("The ", "A ", "An ")
# Capitalised words that begin a sentence and are no names.
NO_NAMES = set(
    "He She It They This That These Those There We You I His Her Its Their Our My In On At As When While For However If Because "
    "Although Nor Neither Here Why Such Following Similarly Use What Which Who How Where Then Thus So But And Or Not Both Each "
    "Some Many Most Other Others Another One Two Since After Before During All Any No Only To From With By Default Note".split()
)
PEOPLE = re.compile(
    r"\b(?:born|actor|actress|singer|songwriter|player|politician|president|writer|author|king|queen|wrote|married|coach|musician|"
    r"leader|director|lawyer|commander|philosopher|footballer|elected|appointed|chairman|judge|scientist|painter|poet|winner)\b",
    re.I,
)
# The thing made, not its maker.
THINGS = re.compile(
    r"\b(?:series|film|novel|book|song|album|show|game|episode|company|band|award|play|released|published|written)\b"
)
CLAUSE = re.compile(r",? (?:which|who|whose|where|that|and|but|with|after|when|since|of which|in which)\b|; |, ")


def sentences(passage):
    return [one for one in re.split(r"(?<=[a-z0-9)\"][.]) (?=[A-Z])", passage) if 6 <= len(one.split()) <= 40]


def plain(sentence):
    """Return the sentence without parentheses and quotation marks."""
    return re.sub(r"\s+", " ", re.sub(r"\s*\([^)]*\)", "", sentence).replace('"', "")).strip()


def is_person(subject, said):
    first = " ".join(said.split()[:9])
    return not subject.startswith(ARTICLES) and bool(PEOPLE.search(first)) and not THINGS.search(first)


def named(found, most=7):
    words = found["subject"].split() if found else []
    return 0 < len(words) <= most and words[0] not in NO_NAMES


def within(subject):
    """Return the subject as it is written inside a sentence."""
    return subject[0].lower() + subject[1:] if subject.startswith(ARTICLES) else subject


def about_subject(sentence):
    """ "Who wrote notes on the engine?" from "Ada Lovelace wrote notes on the engine." """
    found = re.match(rf"{SUBJECT} {ACTS} (?P<rest>.+?)[.]$", sentence)
    if not named(found):
        return None
    rest = CLAUSE.split(found["rest"])[0]
    if not 3 <= len(rest.split()) <= 14:
        return None
    person = is_person(found["subject"], rest)
    act = {"were": "was", "are": "is"}.get(found["act"], found["act"]) if person else found["act"]
    return f"{'Who' if person else 'What'} {act} {rest}?", found["subject"]


def about_time(sentence):
    """ "When was the bridge opened?" from "The bridge was opened in 1890." """
    found = re.match(rf"(?P<subject>[^,]+?) {BE} (?P<rest>.+?) (?:in|on) {DATE}\b", sentence)
    if not named(found, 9) or len(found["rest"].split()) > 12:
        return None
    return f"When {found['act']} {within(found['subject'])} {found['rest']}?", found["answer"]


def about_kind(sentence):
    """ "What is lead?" from "Lead is a soft metal." """
    found = re.match(rf"{SUBJECT} {BE} (?P<answer>(?:an?|the) [^,.;]+)", sentence)
    if not named(found):
        return None
    answer = re.split(
        r" (?:that|which|who|whose|where|and so|of which|in which|used|from|by|for|with|located|played|since|provided|designed|to) ",
        found["answer"] + " ",
    )[0].strip()
    if not 2 <= len(answer.split()) <= 7:
        return None
    return f"{'Who' if is_person(found['subject'], answer) else 'What'} {found['act']} {within(found['subject'])}?", answer


def questions(passage):
    """Return (question, answer) of what the passage states; the answer is a part of the passage."""
    for sentence in map(plain, sentences(passage)):
        for form in (about_time, about_subject, about_kind):
            made = form(sentence)
            if made and made[1] in passage:
                yield made
