"""Checks of the recipe before a training: `python -m recipe check`."""

import os
import random
import subprocess
import sys
from pathlib import Path

import gguf
import torch

from . import names, network, prompts, rounding, words
from .packing import batch, encode
from .reading import READING_MIX, Passage, Reader
from .tasks import MIX, UNKNOWN, Tasks
from .world import World

HERE = Path(__file__).resolve().parent
GROUPS = 400


def every_prompt_has_examples():
    """Every prompt of the program, word for word as in its file, begins some example."""
    tasks, seen = Tasks(random.Random(1)), set()
    for maker in MIX:
        tasks.draw()
        for _ in range(40):
            group = getattr(tasks, maker)()
            for branch in group.branches:
                text = group.shared + branch.prompt
                seen |= {name for name, prompt in prompts.TEXTS.items() if all(one in text for one in fixed_parts(prompt))}
    there = {path.stem for path in prompts.FOLDER.glob("*.md")}
    assert seen == there == set(prompts.NAMES), f"prompts without examples: {there ^ seen}"


def fixed_parts(prompt):
    """Return the parts of a prompt between its placeholders."""
    for name in "qctabf":
        prompt = prompt.replace(f"{{{name}}}", "\0")
    return [part for part in prompt.split("\0") if part]


def names_become_words():
    """Names of several tokens become one, other text keeps its tokens, and both decode to
    themselves.
    """
    names, other = ("Brokkenfel", "Brokkenmar", "Wizzenfel"), "The harbour master of Port Ardel lives in a red house."
    before, known = words.of_worlds().tokenizer(), words.of_worlds().with_whole(names)
    after = known.tokenizer()
    assert known.tokens[: len(words.of_worlds().tokens)] == words.of_worlds().tokens
    assert len(set(known.tokens)) == len(known.tokens) == len(known.types)
    for name in names:
        assert len(before.encode(f" {name}").ids) > 1 and len(after.encode(f" {name}").ids) == 1, name
        assert after.decode(after.encode(f" {name}").ids) == f" {name}", name
    assert after.encode(other).ids == before.encode(other).ids


def names_are_apart():
    """No world has a name of the demo, no training world a held-out name, no evaluation world any
    other.
    """
    for evaluation in (False, True):
        for seed in range(20):
            for made in World(random.Random(seed), evaluation).names.used:
                assert made not in names.demo_names(), made
                assert names.held_out(made) == evaluation, made


def examples_are_sound():
    """Replies fit their questions: an answer is in the context, and `unknown` is the reply only
    where it is not.
    """
    tasks = Tasks(random.Random(2))
    for _ in range(GROUPS):
        group = tasks.draw()
        for branch in group.branches:
            text = group.shared + branch.prompt
            assert "\0" not in text and "\1" not in text and " a architect" not in text, text
            if branch.kind in ("short one-hop", "short two-hop", "short singled-out"):
                assert branch.reply.lower() in text.lower(), (text, branch.reply)


def invented_articles():
    """Return passages of worlds as articles: each states its facts, the last question has no answer.
    """
    tasks, made = Tasks(random.Random(6)), []
    for at in range(12):
        tasks.draw()
        chunks = [tasks.some_chunk() for _ in range(4)]
        facts = [fact for chunk in chunks for fact in chunk.facts]
        absent = next(fact for fact in tasks.world.facts if fact not in facts)
        asked = [(f"What is the {fact.relation} of {fact.subject}?", fact.object) for fact in facts]
        asked.append((f"What is the {absent.relation} of {absent.subject}?", None))
        made.append(Passage(f"Article {at % 4}", " ".join(chunk.text for chunk in chunks), tuple(asked)))
    return made


def passages_hold_their_answers():
    """A short answer about a passage is in its context, one step by step also in the sentence before
    it, and a question without an answer is answered `unknown`, in about the share that is wanted.
    """
    reader, seen = Reader(random.Random(4), invented_articles(), worlds=0), []
    asked = [one for passage in reader.passages for one in passage.asked if one[1]]
    for maker in READING_MIX:
        for _ in range(60):
            group = getattr(reader, maker)()
            assert group.branches, maker
            for branch in group.branches:
                text, reply = group.shared + branch.prompt, branch.reply
                seen.append(branch.kind)
                if branch.kind == "read short":
                    assert reply.lower() in text.lower(), (text, reply)
                    assert any(question in text and reply == answer for question, answer in asked), (text, reply)
                if branch.kind == "read steps":
                    sentence, _, answer = reply.rpartition("So the answer is ")
                    assert not sentence or answer.rstrip(".").lower() in sentence.lower(), reply
                if branch.kind == "read unknown":
                    assert reply == UNKNOWN, reply
    unknown = sum(kind == "read unknown" for kind in seen) / sum(kind in ("read short", "read unknown") for kind in seen)
    assert 0.1 < unknown < 0.5, unknown


def draws_repeat():
    """A seed gives the same examples in every run, whatever the iteration order of sets."""
    code = (
        "import hashlib, random; from recipe.tasks import Tasks; tasks = Tasks(random.Random(5)); "
        "print(hashlib.sha256(repr([tasks.draw() for _ in range(200)]).encode()).hexdigest())"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=HERE.parent,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(drawn) == 1, "two runs of one seed draw different examples"


def packed_rows_equal_single_prompts():
    """Branches of a row attend to their shared prefix and to themselves only."""
    torch.manual_seed(1)
    tokenizer, tasks = words.of_worlds().tokenizer(), Tasks(random.Random(3))
    model = network.Decoder(network.Shape(width=64, layers=2, heads=4, kv_heads=2, feed_forward=96))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    pieces = [piece for piece in (encode(tokenizer, tasks.draw()) for _ in range(10)) if len(piece.tokens) <= 512]
    with torch.no_grad():
        tokens, positions, cells, _, _ = batch(pieces, sum(len(piece.tokens) for piece in pieces) + 30)
        together, start = model(tokens, positions, cells)[0], 0
        for piece in pieces:
            for owner in range(1, max(piece.owner) + 1):
                spots = [i for i, one in enumerate(piece.owner) if one in (0, owner)]
                alone = model(torch.tensor([[piece.tokens[i] for i in spots]]))[0]
                error = (together[[start + i for i in spots]] - alone).abs().max().item()
                assert error < 1e-3, error
            start += len(piece.tokens)


def rounding_disturbs_outputs_least():
    """For correlated inputs, GPTQ's five bits change the outputs less than rounding to nearest, and
    gguf reads what was written.
    """
    torch.manual_seed(1)
    weights, inputs = torch.randn(48, 96), torch.randn(400, 12) @ torch.randn(12, 96) + 0.1 * torch.randn(400, 96)
    kind = gguf.GGMLQuantizationType.Q5_0

    def error(blocks):
        read = torch.from_numpy(gguf.quants.dequantize(blocks, kind).copy())
        return (inputs @ (read - weights).T).square().mean().item()

    ours, nearest = rounding.five_bits(weights, inputs.T @ inputs), gguf.quants.quantize(weights.numpy(), kind)
    assert ours.shape == nearest.shape and error(ours) < 0.5 * error(nearest), (error(ours), error(nearest))


def training_sees_the_weights_of_the_file():
    """While a model is rounded, its matrices are those that the file will hold; afterwards they are
    its own again.
    """
    torch.manual_seed(1)
    model = network.Decoder(network.Shape(width=64, layers=1, heads=4, kv_heads=2, feed_forward=96, vocabulary=40))
    torch.nn.init.normal_(model.blk[0].ffn_down.weight)
    whole = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with rounding.rounded(model):
        for name, tensor in model.state_dict().items():
            if tensor.ndim == 2:
                blocks = rounding.five_bits(whole[name])
                read = torch.from_numpy(gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType.Q5_0).copy())
                assert torch.equal(tensor, read), name
                assert name == "blk.0.attn_output.weight" or not torch.equal(tensor, whole[name]), name
    assert all(torch.equal(tensor, whole[name]) for name, tensor in model.state_dict().items())


CHECKS = (
    every_prompt_has_examples,
    names_become_words,
    names_are_apart,
    examples_are_sound,
    passages_hold_their_answers,
    draws_repeat,
    packed_rows_equal_single_prompts,
    rounding_disturbs_outputs_least,
    training_sees_the_weights_of_the_file,
)


def run():
    for check in CHECKS:
        check()
        print(f"ok  {check.__name__.replace('_', ' ')}")
