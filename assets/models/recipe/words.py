"""The generator's vocabularies: words of the worlds for a network trained from scratch, the most
common tokens of a pretrained one.
"""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

HERE = Path(__file__).resolve().parent
CONTROL = int(gguf.TokenType.CONTROL)


@dataclass(frozen=True)
class Words:
    """Tokens by id, which of them are control tokens (`<|im_end|>`, …), the merges that form them,
    and how llama.cpp splits text before merging (`pre`, one of llama.cpp's names).
    """

    tokens: tuple
    types: tuple
    merges: tuple
    pre: str

    def first(self, size):
        """Return a vocabulary of the first tokens only: they are in the order of their merges, the
        most common first.
        """
        tokens = self.tokens[:size]
        return Words(tokens, self.types[:size], made_of(self.merges, tokens), self.pre)

    def with_whole(self, names):
        """Return a vocabulary with each name after a space as one token. Byte-pair encoding
        continues over the names alone: the most common pair of neighbours becomes a token until no
        name has two.
        """
        left, tokens, merges = (
            [self.tokenizer().encode(f" {name}").tokens for name in names],
            list(self.tokens),
            list(self.merges),
        )
        while pairs := Counter(pair for parts in left for pair in zip(parts, parts[1:])):
            # Among equally common pairs the last in alphabetical order, so that every run gives the same.
            first, second = max(pairs, key=lambda pair: (pairs[pair], pair))
            left = [joined(parts, first, second) for parts in left]
            merges.append(f"{first} {second}")
            tokens.append(first + second)
        more = (int(gguf.TokenType.NORMAL),) * (len(tokens) - len(self.tokens))
        return Words(tuple(tokens), self.types + more, tuple(merges), self.pre)

    @cache
    def tokenizer(self):
        """Return a tokenizer with llama.cpp's splits and merges, for training."""
        made = Tokenizer(
            models.BPE(
                vocab={token: at for at, token in enumerate(self.tokens)},
                merges=[tuple(merge.split(" ")) for merge in self.merges],
            )
        )
        digits = [pre_tokenizers.Digits(individual_digits=True)] if self.pre == "smollm" else []
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [*digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
        )
        made.decoder = decoders.ByteLevel()
        steering = [token for token, kind in zip(self.tokens, self.types) if kind == CONTROL]
        made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in steering])
        return made


@cache
def of_worlds():
    """Return `tokenizer.json`, built over worlds: the lexicon's names are one token each."""
    model = json.loads((HERE / "tokenizer.json").read_text())["model"]
    tokens = tuple(sorted(model["vocab"], key=model["vocab"].get))
    types = tuple(CONTROL if token.startswith("<|") else int(gguf.TokenType.NORMAL) for token in tokens)
    merges = tuple(merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"])
    return Words(tokens, types, merges, "gpt-2")


@cache
def of_gguf(path):
    """Return the vocabulary of a GGUF file. A WordPiece vocabulary has no merges."""
    fields = gguf.GGUFReader(path).fields

    def contents(key, otherwise=None):
        field = fields.get(f"tokenizer.ggml.{key}")
        return field.contents() if field else otherwise

    tokens, types, merges = (tuple(contents(key, ())) for key in ("tokens", "token_type", "merges"))
    return Words(tokens, types, merges, contents("pre"))


def joined(parts, first, second):
    """Return the parts with every `first` before a `second` joined to it."""
    made = []
    for part in parts:
        if made and made[-1] == first and part == second:
            made[-1] = first + second
        else:
            made.append(part)
    return made


def made_of(merges, tokens):
    """Return the merges whose parts and result are all tokens."""
    there = set(tokens)
    return tuple(merge for merge in merges if {*merge.split(" "), merge.replace(" ", "")} <= there)
