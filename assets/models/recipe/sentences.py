"""The sentence-level model: a small decoder that reads one unit vector per position and predicts
the vector of the next unit.

Training is contrastive: the hidden state of a unit must be more similar to the next unit's vector
than to those of the document's later units. llama.cpp feeds the vectors directly (`batch.embd`):
they are neither scaled nor projected here.
"""

import json
import random
import time

import torch
import torch.nn.functional as F

from . import documents, minilm, network
from .contexts import Writer
from .world import World

SHAPE = network.Shape(width=384, layers=2, heads=6, kv_heads=6, feed_forward=384, vocabulary=512)
CANDIDATES = 20
PARTS = ("train", "tune", "held out")
TEMPERATURE = 0.07
ROWS, HELD_OUT_ONE_IN = 48, 8
# Tens of thousands of units are soon memorised: hence noise of this length on every unit vector, and strong weight decay.
NOISE, WEIGHT_DECAY = 1.0, 0.1


def collect(out, folders, seed, files, worlds):
    """Return the unit vectors of every document, computed once: `[(source, (units, 384))]` of the
    parts "train", "tune" and "held out", which share no file and no world.
    """
    cache = out / "units.pt"
    if cache.exists():
        return torch.load(cache, weights_only=True)
    dice, model, words = random.Random(seed), minilm.MiniLm(), minilm.tokenizer()
    found = documents.installed(folders, dice, files)
    names = sorted({source for source, _ in found})
    dice.shuffle(names)
    few = len(names) // HELD_OUT_ONE_IN
    part_of = {name: "tune" if at < few // 3 else "held out" if at < few else "train" for at, name in enumerate(names)}
    parts = {part: [("files", units) for source, units in found if part_of[source] == part] for part in PARTS}
    for part, share in zip(PARTS, (1, HELD_OUT_ONE_IN, HELD_OUT_ONE_IN)):
        parts[part] += [("worlds", units) for units in documents.of_worlds(dice, worlds // share, evaluation=part != "train")]
    for part, docs in parts.items():
        began = time.monotonic()
        for at, (kind, units) in enumerate(docs):
            docs[at] = kind, minilm.embed(units, model, words, exact=part != "train")
            if at % 50 == 0:
                print(f"embedding {part}: {at}/{len(docs)}, {time.monotonic() - began:.0f} s", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    torch.save(parts, cache)
    return parts


def batches(train, dice):
    """Yield rows of one length: documents cut at a random position, so that every unit occurs at
    many positions.
    """
    while True:
        chosen = dice.sample(train, ROWS)
        length = min(len(vectors) for _, vectors in chosen)
        length = dice.randint(min(12, length), length)
        starts = [dice.randint(0, len(vectors) - length) for _, vectors in chosen]
        yield torch.stack([vectors[start : start + length] for (_, vectors), start in zip(chosen, starts)])


def loss_of(model, rows):
    """Return the cross-entropy of the next unit among the document's later units."""
    count, length, _ = rows.shape
    read = F.normalize(rows + NOISE * torch.randn_like(rows) / rows.shape[-1] ** 0.5, dim=-1)
    hidden = F.normalize(model(read)[:, :-1].float(), dim=-1)
    logits = torch.einsum("bih,bjh->bij", hidden, rows[:, 1:]) / TEMPERATURE
    # Candidates exclude units that were read already (the task would be to remember them) and units
    # of other documents (to distinguish those is to learn the topics of the documents).
    logits = logits.masked_fill(torch.ones(length - 1, length - 1, dtype=torch.bool).tril(-1), float("-inf"))
    targets = torch.arange(length - 1).expand(count, -1)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def evaluate(model, docs, seed=5):
    """Return how often the next unit ranks first among 20 of the document that were not read yet,
    for the model and for the plain vectors.
    """
    dice, right, asked = random.Random(seed), {}, {}
    model.eval()
    for kind, vectors in docs:
        hidden = F.normalize(model(vectors[None])[0].float(), dim=-1)
        for at in range(len(vectors) - 1):
            later = list(range(at + 2, len(vectors)))
            if len(later) < CANDIDATES - 1:
                break
            candidates = vectors[[at + 1, *dice.sample(later, CANDIDATES - 1)]]
            asked[kind] = asked.get(kind, 0) + 1
            for who, query in (("model", hidden[at]), ("embedder", vectors[at])):
                right[kind, who] = right.get((kind, who), 0) + int((candidates @ query).argmax() == 0)
    model.train()
    return {
        kind: {"asked": count, **{who: round(right[kind, who] / count, 4) for who in ("model", "embedder")}}
        for kind, count in asked.items()
    }


@torch.no_grad()
def attention(model, vectors):
    """Return the attention of each unit to itself and the earlier ones, mean over layers and heads,
    as the program reads it: (units, units).
    """
    rows, h, length = [], vectors[None], len(vectors)
    turn = model.cos[:length], model.sin[:length]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    for block in model.blk:
        q, k = block.queries_and_keys(block.attn_norm(h), turn)
        shares = (q @ k.mT / model.shape.head_width**0.5).masked_fill(later, float("-inf")).softmax(-1)
        rows.append(shares.mean(1)[0])
        h = block(h, turn, None)
    return torch.stack(rows).mean(0)


def evaluate_links(model, documents_made=8, seed=11):
    """Evaluate the links in shuffled articles of held-out worlds with two units per entity: the
    share of attention to the unit about the same entity, and how often that unit gets the most;
    beside it chance, and the cosine similarity of the vectors. The unit itself and the first unit
    are left out, as in the program.
    """
    dice, shares, chances, firsts, plain = random.Random(seed), [], [], [], []
    embedder, words = minilm.MiniLm(), minilm.tokenizer()
    for _ in range(documents_made):
        world = World(dice, evaluation=True)
        writer = Writer(world)
        subjects = [(subject, writer.about(subject, 4)) for subject in dice.sample(list(world.by_subject), 8)]
        parts = [(subject, facts[at : at + 2]) for subject, facts in subjects for at in (0, 2) if facts[at : at + 2]]
        dice.shuffle(parts)
        vectors = minilm.embed([writer.sentences(facts) for _, facts in parts], embedder, words)
        paid = attention(model, vectors)
        for at in range(3, len(parts)):
            same = [other for other in range(1, at) if parts[other][0] == parts[at][0]]
            if same:
                row, cosines = paid[at, 1:at], vectors[1:at] @ vectors[at]
                shares.append((paid[at, same].sum() / row.sum()).item())
                chances.append(len(same) / (at - 1))
                firsts.append(row.argmax().item() + 1 in same)
                plain.append(cosines.argmax().item() + 1 in same)
    means = {
        name: round(sum(one) / len(one), 3)
        for name, one in (
            ("share", shares),
            ("share by chance", chances),
            ("strongest", firsts),
            ("strongest by cosine", plain),
        )
    }
    return {"asked": len(shares), **means}


def run(out, folders, *, seed=1, minutes=2.0, files=2000, worlds=200, peak=2e-5, threads=0):
    """Train for the given minutes (the vectors are computed before); writes `out`/sentences.pt."""
    torch.manual_seed(seed)
    if threads:
        torch.set_num_threads(threads)
    dice = random.Random(seed)
    parts = collect(out, folders, seed, files, worlds)
    model = network.Decoder(SHAPE, embed=False)
    for block in model.blk:
        # From the first step on a unit attends to similar units: queries and keys of a head start out equal.
        torch.nn.init.orthogonal_(block.attn_q.weight)
        block.attn_k.weight.data.copy_(block.attn_q.weight)
    # Not Muon: with few positions per batch its products would cost more than the network's.
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=WEIGHT_DECAY)
    best, step, began, shown = -1.0, 0, time.monotonic(), 0.0
    for rows in batches(parts["train"], dice):
        elapsed = (time.monotonic() - began) / 60
        if elapsed > minutes:
            break
        share = peak * min(1, (step + 1) / 30) * max(0.02, 1 - elapsed / minutes)
        for group in optimizer.param_groups:
            group["lr"] = share
        loss = loss_of(model, rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if elapsed - shown > 0.25:
            shown, scores = elapsed, evaluate(model, parts["tune"])
            print(f"{elapsed:.1f} min, step {step}, loss {loss.item():.3f}", json.dumps(scores), flush=True)
            if (score := sum(one["model"] * one["asked"] for one in scores.values())) > best:
                best = score
                model.save(out / "sentences.pt")
    scores = evaluate(model, parts["tune"])
    print(json.dumps(scores), flush=True)
    if sum(one["model"] * one["asked"] for one in scores.values()) >= best:
        model.save(out / "sentences.pt")
    best_model, _ = network.load(out / "sentences.pt", embed=False)
    print(json.dumps({"held out": evaluate(best_model, parts["held out"]), "links": evaluate_links(best_model)}), flush=True)
    return out / "sentences.pt"
