"""Evaluation on held-out worlds: exact match of the whole greedy reply, per task."""

import math
import random
import re
from collections import Counter

import torch

from . import demo, network, prompts, train, words
from .contexts import passages
from .packing import END_TOKEN, batch, cut, encode
from .reading import Reader
from .tasks import GUESSES, Tasks
from .world import RELATIONS, plain_words


class Exam:
    """A fixed set of held-out examples.

    A reply is exact when every token is the likeliest one after those before it, which is what
    greedy decoding yields. `only` selects one task instead of the mix, `chunks` fixes the number of
    chunks per context, `articles` are held-out passages to read besides.
    """

    def __init__(
        self, tokenizer, count=160, seed=1, level=1.0, split="tune", real=(), only=None, chunks=None, articles=()
    ):
        tasks = Tasks(random.Random(9000 + seed), evaluation=True, level=level, real=real, chunks=chunks)
        self.pieces = []
        while len(self.pieces) < count:
            group = tasks.draw()
            group = getattr(tasks, only)() if only else group
            piece = encode(tokenizer, group)
            if len(piece.tokens) <= train.LONGEST:
                self.pieces.append(piece)

        read = Reader(random.Random(9300 + seed), articles).examined() if articles else ()
        self.pieces += [piece for piece in (encode(tokenizer, group) for group in read) if len(piece.tokens) <= train.LONGEST]

        for name, group in demo.groups(split) if split else ():
            piece = encode(tokenizer, group)
            piece.name = name
            self.pieces.append(piece)

    def sit(self, model):
        """Return `{kind: "right/asked"}`. A question of the demo counts once, and is right if any
        of its spellings is.
        """
        right, asked = Counter(), Counter()
        device = next(model.parameters()).device
        model.eval()
        # Batches vary in length here, and fused code is compiled for one.
        plain = torch.compiler.set_stance("force_eager")
        with plain, torch.no_grad(), network.products(device):
            for pieces in cut(self.pieces, train.BATCH_TOKENS):
                self.mark(model, pieces, device, right, asked)
        model.train()
        return {kind: f"{right[kind]}/{asked[kind]}" for kind in sorted(asked) if kind not in GUESSES}

    @staticmethod
    def mark(model, pieces, device, right, asked):
        tokens, positions, cells, _, _ = batch(pieces, device=device)
        hidden, start = model(tokens, positions, cells)[0], 0
        for piece in pieces:
            for owner, kind in enumerate(piece.kinds, 1):
                spots = [start + i for i, (o, w) in enumerate(zip(piece.owner, piece.weight)) if o == owner and w > 0]
                guess = model.logits(hidden[[spot - 1 for spot in spots]]).argmax(-1)
                exact = bool((guess == tokens[0, spots]).all())
                name = getattr(piece, "name", None)
                if name is None or name not in right:
                    asked[kind] += 1
                    right[kind] += exact
                    if name:
                        right[name] = exact
                elif exact and not right[name]:
                    right[kind], right[name] = right[kind] + 1, True
            start += len(piece.tokens)


def share_right(result, prefix):
    """Return the share of right replies of an examination among the kinds that begin so, or None
    without any.
    """
    counts = [tuple(map(int, value.split("/"))) for kind, value in result.items() if kind.startswith(prefix)]
    asked = sum(count for _, count in counts)
    return sum(right for right, _ in counts) / asked if asked else None


@torch.no_grad()
def write(model, tokens, longest=160):
    """Generate greedily up to the end of the reply, and return its tokens."""
    model.eval()
    row = list(tokens)
    with torch.compiler.set_stance("force_eager"), network.products(network.CPU):
        for _ in range(longest):
            row.append(model.logits(model(torch.tensor([row]))[0, -1]).argmax().item())
            if row[-1] == END_TOKEN:
                break
    return row[len(tokens) :]


def names_in(text):
    """Return what a rephrased text must keep, in lower case: numbers, values such as a colour, and
    capitalised words that no wording of a fact contains.
    """
    values = plain_words()
    common = {word for one in RELATIONS.values() for word in re.findall(r"[a-z]+", " ".join(one.statements).lower())}
    common |= {"he", "his", "she", "her", "it", "its"}
    words = re.findall(r"\d+|[A-Za-z]+", text)
    return {word.lower() for word in words if not word.islower() or word in values} - common


def names_kept(model, tokenizer, count=100, seed=1):
    """Return how many rephrased texts have every name and number of the original and no other, as
    "right/asked".
    """
    tasks, right = Tasks(random.Random(9100 + seed), evaluation=True), 0
    for _ in range(count):
        tasks.draw()
        group = tasks.rephrase()
        text = group.branches[0].prompt
        reply = write(model, tokenizer.encode(prompts.USER + group.shared + text + prompts.ASSISTANT).ids)
        right += names_in(tokenizer.decode(reply)) == names_in(text)
    return f"{right}/{count}"


# Sampled replies per question, at temperature 1, and the maximum tokens of one.
SAMPLES, REPLY_TOKENS = 10, 16


@torch.no_grad()
def meanings(model, tokenizer, prompt, dice):
    """Return the distinct replies among `SAMPLES` to a prompt, as words, with their counts."""
    rows = torch.tensor([tokenizer.encode(prompts.USER + prompt + prompts.ASSISTANT).ids] * SAMPLES)
    read = rows.shape[1]
    with torch.compiler.set_stance("force_eager"), network.products(network.CPU):
        while rows.shape[1] < read + REPLY_TOKENS and not (rows[:, read:] == END_TOKEN).any(1).all():
            chances = model.logits(model(rows)[:, -1]).float().softmax(-1)
            rows = torch.cat([rows, torch.multinomial(chances, 1, generator=dice)], 1)
    replies = [row[: row.index(END_TOKEN)] if END_TOKEN in row else row for row in rows[:, read:].tolist()]
    return Counter(tuple(re.findall(r"\w+", tokenizer.decode(reply).lower())) for reply in replies)


def entropy(counts):
    """Return the discrete semantic entropy in nats; replies with the same words mean the same."""
    total = sum(counts.values())
    return sum(count / total * math.log(total / count) for count in counts.values())


def entropies(model, tokenizer, count=60, seed=1):
    """Return the mean discrete semantic entropy of replies to one-fact questions, without evidence
    and with it.
    """
    tasks, dice = Tasks(random.Random(9200 + seed), evaluation=True), torch.Generator().manual_seed(seed)
    closed, grounded = [], []
    model.eval()
    for _ in range(count):
        tasks.draw()
        question = tasks.any_question(1, 0, 0, 0, 0)
        evidence = prompts.fill("qa_short", q=question.text, c=passages(tasks.context(question.steps)))
        closed.append(entropy(meanings(model, tokenizer, prompts.fill("qa_closed", q=question.text), dice)))
        grounded.append(entropy(meanings(model, tokenizer, evidence, dice)))
    return round(sum(closed) / count, 2), round(sum(grounded) / count, 2)


def examine(path, groups=600, seed=1, split="held_out", real=(), articles=()):
    """Evaluate a model file with short contexts and with the full mix, on a split of the demo's
    questions, and on passages of held-out articles.
    """
    model = train.finished(path)
    known = words.of_gguf(str(path)) if path.suffix == ".gguf" else train.vocabulary_of(model.shape)
    result = {
        name: Exam(known.tokenizer(), groups, seed, level, split, real).sit(model)
        for name, level in (("short contexts", 0.0), ("full mix", 1.0))
    }
    result |= Exam(known.tokenizer(), 40, seed, split=None, only="rewrite_query").sit(model)
    if articles:
        result |= Exam(known.tokenizer(), 0, seed, split=None, articles=articles).sit(model)
    for chunks in (1, 2, 4, 8, 16):
        exam = Exam(known.tokenizer(), 100, seed, split=None, only="qa_short", chunks=chunks)
        tokens = sum(len(piece.tokens) for piece in exam.pieces) / len(exam.pieces)
        result[f"short answer, {chunks} chunks, {tokens:.0f} tokens"] = exam.sit(model)
    result["rephrasing keeps every name and number"] = names_kept(model, known.tokenizer())
    result["entropy of samples without evidence, with it"] = entropies(model, known.tokenizer())
    return result
