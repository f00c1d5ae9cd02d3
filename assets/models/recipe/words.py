"""The generator's vocabularies: words of the worlds for a network trained from scratch, the commonest words of a pretrained one."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

HERE = Path(__file__).resolve().parent
CONTROL = int(gguf.TokenType.CONTROL)


@dataclass(frozen=True)
class Words:
    """Tokens by their number, which of them steer (`<|im_end|>`, …), the merges that make them, and how llama.cpp cuts text
    before it merges (`pre`, a name that llama.cpp knows)."""

    tokens: tuple
    types: tuple
    merges: tuple
    pre: str

    def first(self, size):
        """Its first tokens alone: they stand in the order of their merges, the commonest first."""
        tokens = self.tokens[:size]
        return Words(tokens, self.types[:size], made_of(self.merges, tokens), self.pre)

    @cache
    def tokenizer(self):
        """The same cut and merges as llama.cpp's, for training."""
        if self.pre == "gpt-2":
            return Tokenizer.from_file(str(HERE / "tokenizer.json"))
        made = Tokenizer(
            models.BPE(
                vocab={token: at for at, token in enumerate(self.tokens)},
                merges=[tuple(merge.split(" ")) for merge in self.merges],
            )
        )
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        made.decoder = decoders.ByteLevel()
        steering = [token for token, kind in zip(self.tokens, self.types) if kind == CONTROL]
        made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in steering])
        return made


@cache
def of_worlds():
    """`tokenizer.json`, built over worlds: the lexicon's names are one token each."""
    model = json.loads((HERE / "tokenizer.json").read_text())["model"]
    tokens = tuple(sorted(model["vocab"], key=model["vocab"].get))
    types = tuple(CONTROL if token.startswith("<|") else int(gguf.TokenType.NORMAL) for token in tokens)
    merges = tuple(merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"])
    return Words(tokens, types, merges, "gpt-2")


@cache
def of_gguf(path):
    """The vocabulary of a GGUF file. One of word pieces has no merges."""
    fields = gguf.GGUFReader(path).fields

    def contents(key, otherwise=None):
        field = fields.get(f"tokenizer.ggml.{key}")
        return field.contents() if field else otherwise

    tokens, types, merges = (tuple(contents(key, ())) for key in ("tokens", "token_type", "merges"))
    return Words(tokens, types, merges, contents("pre"))


def made_of(merges, tokens):
    """The merges whose parts and result are all there."""
    there = set(tokens)
    return tuple(merge for merge in merges if {*merge.split(" "), merge.replace(" ", "")} <= there)
