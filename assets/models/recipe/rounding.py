"""Five-bit weights that disturb a layer's outputs least (GPTQ; Frantar et al. 2023, "Accurate
Post-Training Quantization for Generative Pre-trained Transformers", algorithm 1), in the blocks of
GGUF's Q5_0.

Rounding to nearest costs a copying network of this size a sixth of its short answers. Here the
columns of a matrix are rounded one after the other, and the later ones compensate the error of the
earlier, as far as the layer's real inputs are correlated.
"""

import random
from contextlib import contextmanager

import numpy as np
import torch

from . import network
from .packing import batch, cut, encode
from .tasks import SPELT, Tasks

BLOCK, LEVELS, MIDDLE = 32, 32, 16
# Calibration inputs: groups of examples, maximum tokens of a group, and tokens per batch.
GROUPS, LONGEST, BATCH_TOKENS = 400, 512, 4096
# The same for a network of more layers than this, which reads at a third of the speed.
MANY_LAYERS, FEWER_GROUPS = 16, 80
DAMPING = 0.01
# A block's step reaches its largest weight, or one of these shares of it if the other weights gain by it.
STEPS = (0.8, 0.85, 0.9, 0.95, 1.0, 1.05)


@torch.no_grad()
def inputs_of(model, tokenizer, seed=17):
    """Return, per matrix by name, `X^T X` of its inputs, summed over examples of worlds: (inputs,
    inputs).
    """
    sums = {}

    def add(name, inputs):
        # In full precision: sums of products in bf16 have no inverse.
        with torch.autocast("cpu", enabled=False):
            rows = inputs.float().flatten(0, -2)
            sums[name] = sums.get(name, 0) + rows.T @ rows

    def watch(name):
        return lambda _, inputs: add(name, inputs[0])

    linear = {name: part for name, part in model.named_modules() if isinstance(part, torch.nn.Linear)}
    hooks = [part.register_forward_pre_hook(watch(f"{name}.weight")) for name, part in linear.items()]
    tasks = Tasks(random.Random(seed), spelt=SPELT["M"])
    groups = FEWER_GROUPS if model.shape.layers > MANY_LAYERS else GROUPS
    pieces = [piece for piece in (encode(tokenizer, tasks.draw()) for _ in range(groups)) if len(piece.tokens) <= LONGEST]
    model.eval()
    with torch.compiler.set_stance("force_eager"), network.products(network.CPU):
        for together in cut(pieces, BATCH_TOKENS):
            tokens, positions, cells, _, _ = batch(together)
            add("token_embd.weight", model(tokens, positions, cells))
    for hook in hooks:
        hook.remove()
    return sums


def step_of(weights):
    """Return the step of each block, (rows, 1), as half precision holds it: the one with the least
    error over the block.
    """
    largest = weights.gather(1, weights.abs().argmax(1, keepdim=True))
    best, least = None, None
    for share in STEPS:
        step = (largest * share / -MIDDLE).half().float()
        error = (levels(weights, step) * step - weights).square().sum(1, keepdim=True)
        best = step if best is None else torch.where(error < least, step, best)
        least = error if least is None else torch.minimum(error, least)
    return best


def levels(weights, step):
    """Return whole numbers from -16 to 15."""
    return torch.where(step == 0, 0.0, weights / step).round().clamp(-MIDDLE, LEVELS - 1 - MIDDLE)


def nearest(weights):
    """Return `weights` rounded to the nearest of five bits."""
    blocks = weights.reshape(-1, BLOCK)
    step = step_of(blocks)
    return (levels(blocks, step) * step).reshape(weights.shape)


@contextmanager
def rounded(model, fuse=False):
    """Round the model's matrices within this context.

    A training that computes its losses so, and updates the unrounded weights by them, learns what
    survives rounding (straight-through estimator; Bengio et al. 2013, arXiv:1308.3432, section 4).
    """
    whole = [one.detach().clone() for one in matrices(model)]
    round_all(model, torch.compile(nearest, dynamic=False) if fuse else nearest)
    try:
        yield
    finally:
        for one, kept in zip(matrices(model), whole):
            one.data.copy_(kept)


def matrices(model):
    """Return the matrices that are trained: one left as it is keeps the blocks that it came in."""
    return [one for one in model.parameters() if one.ndim == 2 and one.requires_grad]


@torch.no_grad()
def round_all(model, rounding=nearest):
    for one in matrices(model):
        one.data.copy_(rounding(one.data))


@torch.no_grad()
def five_bits(weights, inputs=None):
    """Return `weights` (outputs, inputs) as the bytes of Q5_0, (outputs, bytes per row). `inputs`
    is from [`inputs_of`]; without them each weight is rounded to nearest, as in [`rounded`].
    """
    if inputs is None:
        blocks = weights.detach().float().reshape(-1, BLOCK)
        step = step_of(blocks)
        return packed((levels(blocks, step) + MIDDLE).byte().reshape(weights.shape).numpy(), step.half().numpy())
    left, count = weights.detach().float().clone(), weights.shape[1]
    products = inputs.double()
    products += DAMPING * products.diagonal().mean() * torch.eye(count)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky((products + products.T) / 2))
    later = torch.linalg.cholesky((inverse + inverse.T) / 2, upper=True).float()
    whole, steps = torch.empty_like(left), []
    for start in range(0, count, BLOCK):
        end = start + BLOCK
        step, errors = step_of(left[:, start:end]), []
        for at in range(start, end):
            column = left[:, at : at + 1]
            whole[:, at : at + 1] = levels(column, step)
            error = (column - whole[:, at : at + 1] * step) / later[at, at]
            left[:, at:end] -= error * later[at : at + 1, at:end]
            errors.append(error)
        left[:, end:] -= torch.cat(errors, 1) @ later[start:end, end:]
        steps.append(step)
    return packed((whole + MIDDLE).byte().numpy(), torch.cat(steps, 1).half().numpy())


def packed(whole, steps):
    """Pack levels from 0 to 31 and the steps of their blocks in GGUF's order: step, the fifth bits,
    the four lower bits.
    """
    rows = whole.shape[0]
    blocks = whole.reshape(-1, BLOCK)
    low = (blocks[:, : BLOCK // 2] & 15) | ((blocks[:, BLOCK // 2 :] & 15) << 4)
    high = np.packbits(blocks >> 4, axis=-1, bitorder="little")
    return np.concatenate([steps.reshape(-1, 1).view(np.uint8), high, low.astype(np.uint8)], -1).reshape(rows, -1)
