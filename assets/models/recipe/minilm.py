"""all-MiniLM-L6-v2 in PyTorch, read from the shipped GGUF, so that training sees the same vectors
as the program.
"""

from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from .network import tensors
from .words import of_gguf

EMBEDDER = Path(__file__).resolve().parents[1] / "all-MiniLM-L6-v2.Q8_0.gguf"
WIDTH, HEADS, INNER, LAYERS, EPS = 384, 12, 1536, 6, 1e-12
START, END, MASK, PADDING = 101, 102, 103, 0
LONGEST_TOKENS = 256


# The last letter of the alphabets that are kept whole: Latin, Greek, Cyrillic.
LAST_LETTER = 0x52F


@cache
def commonest(count):
    """Return the ids of the most common tokens of the vocabulary (it is in that order) and of every
    letter, so that any word can be spelt.
    """
    words = of_gguf(EMBEDDER).tokens
    needed = [
        at for at, word in enumerate(words) if at <= MASK or (len(word.lstrip("▁")) == 1 and ord(word[-1]) <= LAST_LETTER)
    ]
    others = [at for at, word in enumerate(words) if at > MASK and not word.startswith("[unused") and len(word.lstrip("▁")) > 1]
    return sorted(needed + others[: count - len(needed)])


def tokenizer(count=None):
    """Return the WordPiece tokenizer that llama.cpp builds from the embedder's vocabulary (it marks
    beginnings of words, WordPiece continuations), or from its most common tokens.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = of_gguf(EMBEDDER).tokens
    words = [words[at] for at in commonest(count)] if count else words
    special = {word for word in words if word.startswith("[") and word.endswith("]") and len(word) > 2}
    vocabulary = {}
    for at, word in enumerate(words):
        plain = word if word in special else word[1:] if word.startswith("▁") else f"##{word}"
        vocabulary[plain] = at
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn_q, self.attn_k, self.attn_v, self.attn_output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.attn_output_norm, self.layer_output_norm = nn.LayerNorm(WIDTH, EPS), nn.LayerNorm(WIDTH, EPS)
        self.ffn_up, self.ffn_down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)

    def forward(self, x, mask):
        rows, length, _ = x.shape
        q, k, v = (part(x).view(rows, length, HEADS, -1).transpose(1, 2) for part in (self.attn_q, self.attn_k, self.attn_v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(rows, length, WIDTH)
        x = self.attn_output_norm(x + self.attn_output(y))
        return self.layer_output_norm(x + self.ffn_down(F.gelu(self.ffn_up(x))))


class MiniLm(nn.Module):
    """The first `layers` layers, over the whole vocabulary or its `count` most common tokens;
    returns the last hidden states.
    """

    def __init__(self, layers=LAYERS, count=None):
        super().__init__()
        weights = tensors(EMBEDDER)
        if count:
            weights["token_embd.weight"] = weights["token_embd.weight"][commonest(count)]
        self.token_embd = nn.Embedding(*weights["token_embd.weight"].shape)
        self.position_embd = nn.Embedding(*weights["position_embd.weight"].shape)
        self.token_types = nn.Embedding(*weights["token_types.weight"].shape)
        self.token_embd_norm = nn.LayerNorm(WIDTH, EPS)
        self.blk = nn.ModuleList(Layer() for _ in range(layers))
        known = self.state_dict().keys()
        self.load_state_dict({name: weight for name, weight in weights.items() if name in known}, strict=True)

    def forward(self, tokens):
        """`tokens`: (rows, length), padded with `PADDING`."""
        real = tokens != PADDING
        x = self.token_embd(tokens) + self.position_embd.weight[: tokens.shape[1]] + self.token_types.weight[0]
        x, mask = self.token_embd_norm(x), real[:, None, None, :]
        for layer in self.blk:
            x = layer(x, mask)
        return x


def rows_of(ids, longest=LONGEST_TOKENS):
    """Return token lists as one padded tensor."""
    length = min(longest, max(map(len, ids)))
    return torch.tensor([one[:length] + [PADDING] * (length - len(one)) for one in ids])


@torch.no_grad()
def embed(texts, model=None, words=None, batch=32, exact=True):
    """Return the L2-normalised means of the hidden states, (texts, 384), in order. Without `exact`,
    products are computed in bf16: twice as fast, with a cosine similarity to the exact vector above
    0.9999.
    """
    model, words = model or MiniLm(), words or tokenizer()
    model.eval()
    ids = [[START, *words.encode(text).ids[: LONGEST_TOKENS - 2], END] for text in texts]
    order, vectors = sorted(range(len(ids)), key=lambda at: len(ids[at])), torch.empty(len(ids), WIDTH)
    for at in range(0, len(order), batch):
        here = order[at : at + batch]
        tokens = rows_of([ids[one] for one in here])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not exact):
            hidden = model(tokens).float()
        real = (tokens != PADDING).unsqueeze(-1)
        vectors[here] = F.normalize((hidden * real).sum(1) / real.sum(1), dim=-1)
    return vectors
