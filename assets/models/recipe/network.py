"""The network: a llama decoder (RMS norm, rotary positions, grouped-query attention, gated
feed-forward).
"""

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Shape:
    """The dimensions; by default those of size S, which is trained from scratch in hours on two
    cores.
    """

    width: int = 256
    layers: int = 6
    heads: int = 8
    kv_heads: int = 4
    feed_forward: int = 704
    vocabulary: int = 5454
    positions: int = 2048
    rope_base: float = 10000.0

    @property
    def head_width(self):
        return self.width // self.heads


CPU = torch.device("cpu")
# Context that a file of this recipe declares, of a pretrained model's.
LONGEST_CONTEXT = 4096


def products(device):
    """Return the context in which a network computes: products in bf16 where the device has them,
    which on a CPU without them are slower than those in single precision.
    """
    quick = device.type != "cpu" or has_bf16()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=quick)


@cache
def has_bf16():
    """Return whether the CPU multiplies numbers in bf16, as far as it can be read: else yes."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return True
    return "flags" not in flags or "avx512_bf16" in flags or "amx_bf16" in flags


def narrow(x):
    """Return `x` in the precision of the products: cast once here, not again by every product that
    reads it.
    """
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x


def attend(q, k, v, cells):
    """Return attention within each cell under its additive mask, or causal over everything without
    cells.
    """
    if cells is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    # A cell fits into the CPU cache; rows of thousands of positions do not.
    sizes = [len(mask) for mask in cells]
    return torch.cat(
        [
            torch.softmax(a @ b.mT * a.shape[-1] ** -0.5 + mask, -1) @ c
            for a, b, c, mask in zip(q.split(sizes, 2), k.split(sizes, 2), v.split(sizes, 2), cells)
        ],
        2,
    )


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        inner = shape.kv_heads * shape.head_width

        def linear(inputs, outputs):
            return nn.Linear(inputs, outputs, bias=False)

        self.attn_norm = nn.RMSNorm(shape.width, eps=1e-5)
        self.attn_q, self.attn_k = linear(shape.width, shape.width), linear(shape.width, inner)
        self.attn_v, self.attn_output = linear(shape.width, inner), linear(shape.width, shape.width)
        self.ffn_norm = nn.RMSNorm(shape.width, eps=1e-5)
        self.ffn_gate, self.ffn_up = linear(shape.width, shape.feed_forward), linear(shape.width, shape.feed_forward)
        self.ffn_down = linear(shape.feed_forward, shape.width)
        nn.init.zeros_(self.attn_output.weight)
        nn.init.zeros_(self.ffn_down.weight)

    def queries_and_keys(self, h, turn):
        rows, length, _ = h.shape
        shape = self.shape

        def split(z, heads):
            return z.view(rows, length, heads, shape.head_width).transpose(1, 2)

        def rope(z):
            # Neighbouring pairs rotate together, as in llama.cpp for this architecture: no permutation at export.
            a, b = z[..., 0::2], z[..., 1::2]
            cos, sin = turn
            return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

        k = rope(split(self.attn_k(h), shape.kv_heads)).repeat_interleave(shape.heads // shape.kv_heads, 1)
        return rope(split(self.attn_q(h), shape.heads)), k

    def fuse(self):
        """Compile the code before and after attention. Attention itself has cells of varying sizes.
        """
        self.before = torch.compile(self.before, dynamic=False)
        self.after = torch.compile(self.after, dynamic=False)

    def before(self, x, turn):
        rows, length, _ = x.shape
        shape, h = self.shape, narrow(self.attn_norm(x))
        q, k = self.queries_and_keys(h, turn)
        v = self.attn_v(h).view(rows, length, shape.kv_heads, shape.head_width).transpose(1, 2)
        return q, k, v.repeat_interleave(shape.heads // shape.kv_heads, 1)

    def forward(self, x, turn, cells):
        return self.after(x, attend(*self.before(x, turn), cells))

    def after(self, x, y):
        x = x + self.attn_output(y.transpose(1, 2).reshape(x.shape))
        h = narrow(self.ffn_norm(x))
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Decoder(nn.Module):
    """Computes hidden states of tokens (`embed=True`) or of given vectors."""

    def __init__(self, shape, embed=True):
        super().__init__()
        self.shape = shape
        if embed:
            self.token_embd = nn.Embedding(shape.vocabulary, shape.width)
            nn.init.normal_(self.token_embd.weight, std=0.02)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.output_norm = nn.RMSNorm(shape.width, eps=1e-5)
        angles = torch.arange(shape.positions)[:, None] / shape.rope_base ** (
            torch.arange(0, shape.head_width, 2) / shape.head_width
        )
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, positions=None, cells=None):
        """`x`: tokens (rows, length) or vectors (rows, length, width). `positions`: (rows, length),
        else 0, 1, … `cells`: an (n, n) mask for each run of `n` positions that attend to nothing
        outside it, true where one attends to the other; else causal.
        """
        h = self.token_embd(x) if x.ndim == 2 else x
        if positions is None:
            turn = narrow(self.cos[: x.shape[1]]), narrow(self.sin[: x.shape[1]])
        else:
            turn = narrow(self.cos[positions].unsqueeze(1)), narrow(self.sin[positions].unsqueeze(1))
        if cells is not None:
            cells = [narrow(torch.where(seen, 0.0, float("-inf"))) for seen in cells]
        for block in self.blk:
            h = block(h, turn, cells)
        return self.output_norm(h)

    def logits(self, hidden):
        return hidden @ self.token_embd.weight.T

    def freeze(self, layers):
        """Leave the tokens' vectors and the first layers as they are."""
        for part in (self.token_embd, *self.blk[:layers]):
            part.requires_grad_(False)

    def save(self, path, **more):
        frozen = [name for name, one in self.named_parameters() if not one.requires_grad]
        torch.save({"shape": asdict(self.shape), "weights": self.state_dict(), "frozen": frozen, **more}, path)


def load(path, embed=True):
    """Return a saved decoder and what was saved with it."""
    saved = torch.load(path, map_location="cpu", weights_only=True)
    model = Decoder(Shape(**saved["shape"]), embed)
    model.load_state_dict(saved["weights"])
    for name in saved.get("frozen", ()):
        model.get_parameter(name).requires_grad_(False)
    return model, saved


def tensors(path):
    """Return every tensor of a GGUF file as float32, by name."""
    import gguf

    return {
        one.name: torch.from_numpy(gguf.quants.dequantize(one.data, one.tensor_type).copy()).float()
        for one in gguf.GGUFReader(path).tensors
    }


def from_gguf(path, layers=None, vocabulary=None):
    """Return a decoder with the weights of a llama-architecture GGUF file, for further training: of
    all its layers or those named, with its whole vocabulary or the first `vocabulary` tokens.
    """
    import gguf

    fields = gguf.GGUFReader(path).fields

    def header(key):
        return fields[f"llama.{key}"].contents()

    weights = tensors(path)
    layers = range(header("block_count")) if layers is None else layers
    kept = {name: weight for name, weight in weights.items() if not name.startswith("blk.")}
    kept["token_embd.weight"] = kept["token_embd.weight"][:vocabulary].clone()
    for at, layer in enumerate(layers):
        for name, weight in weights.items():
            if name.startswith(f"blk.{layer}."):
                kept[f"blk.{at}.{name.split('.', 2)[2]}"] = weight
    shape = Shape(
        width=header("embedding_length"),
        layers=len(layers),
        heads=header("attention.head_count"),
        kv_heads=header("attention.head_count_kv"),
        feed_forward=header("feed_forward_length"),
        vocabulary=len(kept["token_embd.weight"]),
        positions=min(header("context_length"), LONGEST_CONTEXT),
        rope_base=header("rope.freq_base"),
    )
    model = Decoder(shape)
    model.load_state_dict(kept)
    return model
