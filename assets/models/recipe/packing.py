"""Groups of examples as a row of tokens: the shared prefix once, then its branches, which do not
attend to each other.
"""

from dataclasses import dataclass, field

import torch

from . import prompts
from .tasks import GUESSES

END_TOKEN = 2
# Small pieces share a cell up to this size: fewer and larger products, with little waste.
CELL_TOKENS = 256


@dataclass
class Piece:
    """A group as tokens. `owner` is 0 for the shared prefix and 1, 2, … for the branches, whose
    kinds are `kinds`; `weight` is above 0 where a reply is learnt.
    """

    tokens: list = field(default_factory=list)
    positions: list = field(default_factory=list)
    owner: list = field(default_factory=list)
    weight: list = field(default_factory=list)
    kinds: list = field(default_factory=list)

    def extend(self, tokens, start, owner, weights):
        self.tokens += tokens
        self.positions += range(start, start + len(tokens))
        self.owner += [owner] * len(tokens)
        self.weight += weights


# A guess can only be learnt as chance: at full weight its loss drowns that of what can be read.
GUESS_WEIGHT = 0.3


def reply_weight(branch, length):
    """Return the weight of a token of a reply: a reply counts as the square root of its length, or
    long ones would drown the judgements of one token.
    """
    return length**-0.5 * (GUESS_WEIGHT if branch.kind in GUESSES else 1.0)


def encode(tokenizer, group):
    piece = Piece(kinds=[branch.kind for branch in group.branches])

    def ids(text):
        return tokenizer.encode(text).ids

    shared = ids(prompts.USER + group.shared) if group.shared else []
    piece.extend(shared, 0, 0, [0.0] * len(shared))
    for owner, branch in enumerate(group.branches, 1):
        opening = ("" if group.shared else prompts.USER) + branch.prompt + prompts.ASSISTANT
        read = ids(opening + (f" {branch.confirmed}" if branch.confirmed else ""))
        reply = ids(f" {branch.reply}") + [END_TOKEN]
        weights = [0.0] * len(read) + [reply_weight(branch, len(reply))] * len(reply)
        piece.extend(read + reply, len(shared), owner, weights)
    return piece


def cut(pieces, room):
    """Split pieces into runs of at most `room` tokens, in order; a longer piece is a run of its
    own.
    """
    run, held = [], 0
    for piece in pieces:
        if run and held + len(piece.tokens) > room:
            yield run
            run, held = [], 0
        run.append(piece)
        held += len(piece.tokens)
    if run:
        yield run


def follows(owner):
    """Return the positions whose next token continues them: both belong to one branch of one piece.
    """
    return (owner[:, 1:] == owner[:, :-1]) & (owner[:, 1:] > 0)


def batch(pieces, length=None, device="cpu"):
    """Return the pieces as one row, padded to `length` if given: tokens, positions, cells, weights,
    owners.

    `weight[t]` is the weight of token `t` as a target. A cell is a run of positions that attend to
    nothing outside it, as a (positions, positions) mask: no product is computed between pieces that
    do not attend to each other.
    """
    length = length or sum(len(piece.tokens) for piece in pieces)
    tokens, positions, owner = (torch.zeros(1, length, dtype=torch.long) for _ in range(3))
    # Owner numbers are unique over the pieces; 0 is padding.
    parent, weight = torch.full((length,), -1), torch.zeros(1, length)
    cells, start, base = [], 0, 1

    def close(first, end):
        own = owner[0, first:end]
        seen = (own == own[:, None]) | (own == parent[first:end, None])
        cells.append((seen & torch.ones_like(seen).tril()).to(device))

    for together in cut(pieces, CELL_TOKENS):
        first = start
        for piece in together:
            end = start + len(piece.tokens)
            tokens[0, start:end] = torch.tensor(piece.tokens)
            positions[0, start:end] = torch.tensor(piece.positions)
            owner[0, start:end] = torch.tensor(piece.owner) + base
            parent[start:end] = base
            weight[0, start:end] = torch.tensor(piece.weight)
            start, base = end, base + max(piece.owner) + 1
        close(first, start)
    if start < length:
        close(start, length)
    return tokens.to(device), positions.to(device), cells, weight.to(device), owner.to(device)
