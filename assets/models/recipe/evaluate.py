"""Evaluation on held-out worlds: exact match of the whole greedy reply, a task at a time."""

import random
from collections import Counter

import torch

from . import demo, network
from .packing import batch, encode, pack
from .tasks import Tasks

# Kinds whose reply is a guess: there is nothing to match.
GUESSES = ("closed guess", "steps guess")


class Exam:
    """The same held-out examples every time. A reply is exact when every token is the likeliest one after those before it,
    which is what greedy writing gives."""

    def __init__(self, count=220, seed=1, level=1.0, split="tune"):
        from .train import tokenizer

        tasks, words = Tasks(random.Random(9000 + seed), evaluation=True, level=level), tokenizer()
        self.pieces, self.kinds = [], []
        while len(self.pieces) < count:
            group = tasks.draw()
            piece = encode(words, group)
            if len(piece.tokens) <= 1024:
                piece.kinds = [branch.kind for branch in group.branches]
                self.pieces.append(piece)

        for name, group in demo.groups(split):
            piece = encode(words, group)
            piece.kinds, piece.name = [group.branches[0].kind], name
            self.pieces.append(piece)

    def sit(self, model):
        """`{kind: "right/asked"}`; a question of the demo counts once, right when one of its spellings is."""
        right, asked = Counter(), Counter()
        device = next(model.parameters()).device
        model.eval()
        # Rows come in any number here, and fused code is made for one.
        plain = torch.compiler.set_stance("force_eager")
        with plain, torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
            for length in (512, 1024):
                here = [p for p in self.pieces if (length == 512) == (len(p.tokens) <= 512)]
                rows = pack(here, length)
                for at in range(0, len(rows), 6):
                    self.mark(model, rows[at : at + 6], length, device, right, asked)
        model.train()
        return {kind: f"{right[kind]}/{asked[kind]}" for kind in sorted(asked) if kind not in GUESSES}

    @staticmethod
    def mark(model, rows, length, device, right, asked):
        tokens, positions, mask, weight, _ = (one.to(device) for one in batch(rows, length))
        hidden = model(tokens, positions, mask)
        for at, pieces in enumerate(rows):
            start = 0
            for piece in pieces:
                for owner, kind in enumerate(piece.kinds, 1):
                    spots = [start + i for i, (o, w) in enumerate(zip(piece.owner, piece.weight)) if o == owner and w > 0]
                    guess = model.logits(hidden[at, [spot - 1 for spot in spots]]).argmax(-1)
                    exact = bool((guess == tokens[at, spots]).all())
                    name = getattr(piece, "name", None)
                    if name is None or name not in right:
                        asked[kind] += 1
                        right[kind] += exact
                        if name:
                            right[name] = exact
                    elif exact and not right[name]:
                        right[kind], right[name] = right[kind] + 1, True
                start += len(piece.tokens)


def examine(path, groups=600, seed=1, split="held_out"):
    """The exam of a model file, with short contexts and with the full mix, and the demo's questions of a split."""
    model = network.from_gguf(path) if path.suffix == ".gguf" else network.load(path)[0]
    return {name: Exam(groups, seed, level, split).sit(model) for name, level in (("short contexts", 0.0), ("full mix", 1.0))}
