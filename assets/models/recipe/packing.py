"""Groups of examples as rows of tokens: the shared text once, then its branches side by side, none of which sees another."""

from dataclasses import dataclass, field

import torch

from . import prompts

END_TOKEN = 2


@dataclass
class Piece:
    """A group as tokens: `owner` 0 is the shared text, 1, 2, … the branches; `weight` is above 0 where a reply is learnt."""

    tokens: list = field(default_factory=list)
    positions: list = field(default_factory=list)
    owner: list = field(default_factory=list)
    weight: list = field(default_factory=list)

    def extend(self, tokens, start, owner, weights):
        self.tokens += tokens
        self.positions += range(start, start + len(tokens))
        self.owner += [owner] * len(tokens)
        self.weight += weights


def reply_weight(length):
    """Long replies would drown the judgements of one token: a reply counts as the root of its length."""
    return length**-0.5


def encode(tokenizer, group):
    piece = Piece()

    def ids(text):
        return tokenizer.encode(text).ids

    shared = ids(prompts.USER + group.shared) if group.shared else []
    piece.extend(shared, 0, 0, [0.0] * len(shared))
    for owner, branch in enumerate(group.branches, 1):
        opening = ("" if group.shared else prompts.USER) + branch.prompt + prompts.ASSISTANT
        read = ids(opening + (f" {branch.confirmed}" if branch.confirmed else ""))
        reply = ids(f" {branch.reply}") + [END_TOKEN]
        weights = [0.0] * len(read) + [reply_weight(len(reply))] * len(reply)
        piece.extend(read + reply, len(shared), owner, weights)
    return piece


def pack(pieces, length):
    """Fill rows of `length` with whole pieces, first fit, longest first. Returns rows as lists of pieces."""
    rows = []
    for piece in sorted(pieces, key=lambda one: -len(one.tokens)):
        for row in rows:
            if row[0] >= len(piece.tokens):
                row[0] -= len(piece.tokens)
                row[1].append(piece)
                break
        else:
            rows.append([length - len(piece.tokens), [piece]])
    return [row[1] for row in rows]


def follows(owner):
    """Where the token after a position goes on from it: both belong to one run of one piece."""
    return (owner[:, 1:] == owner[:, :-1]) & (owner[:, 1:] > 0)


def batch(rows, length):
    """tokens, positions, mask and weights of the rows. `weight[t]` says how much token `t` counts as a target."""
    count = len(rows)
    tokens = torch.zeros(count, length, dtype=torch.long)
    positions = torch.zeros(count, length, dtype=torch.long)
    # Owner numbers that no two pieces of a row share; 0 is padding.
    owner = torch.zeros(count, length, dtype=torch.long)
    parent = torch.full((count, length), -1, dtype=torch.long)
    weight = torch.zeros(count, length)
    for at, pieces in enumerate(rows):
        start, base = 0, 1
        for piece in pieces:
            end = start + len(piece.tokens)
            tokens[at, start:end] = torch.tensor(piece.tokens)
            positions[at, start:end] = torch.tensor(piece.positions)
            owner[at, start:end] = torch.tensor(piece.owner) + base
            parent[at, start:end] = base
            weight[at, start:end] = torch.tensor(piece.weight)
            start, base = end, base + max(piece.owner) + 1
    seen = (owner[:, None, :] == owner[:, :, None]) | (owner[:, None, :] == parent[:, :, None])
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return tokens, positions, (seen & causal)[:, None], weight, owner
