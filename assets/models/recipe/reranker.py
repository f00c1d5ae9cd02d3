"""The reranker: the first layers and most common tokens of the embedder, with a head that reads
question and passage together.

A pair is `[CLS] question [SEP] passage [SEP]`, all of token type 0, as llama.cpp feeds it. Training
ranks the right passage above wrong ones for the same question (cross-entropy over the list):
passages of worlds, where the wrong ones are about the same or similar entities, and
question-and-passage files, where they are the passages of the most similar questions.
"""

import json
import random
import re
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from . import demo, minilm, questions, stated
from .contexts import Writer
from .documents import UNIT_SENTENCES
from .real import natural_questions, shorten
from .world import World

LAYERS, WORDS, LONGEST = 3, 8192, 160
LIST, LISTS = 6, 8
NEAREST = 24


class Reranker(nn.Module):
    """One logit per pair."""

    def __init__(self, layers=LAYERS):
        super().__init__()
        self.body = minilm.MiniLm(layers, WORDS)
        self.cls = nn.Linear(minilm.WIDTH, minilm.WIDTH)
        self.cls_output = nn.Linear(minilm.WIDTH, 1)
        nn.init.eye_(self.cls.weight)
        nn.init.zeros_(self.cls.bias)
        nn.init.normal_(self.cls_output.weight, std=0.02)
        nn.init.zeros_(self.cls_output.bias)

    def forward(self, tokens):
        return self.cls_output(torch.tanh(self.cls(self.body(tokens)[:, 0]))).squeeze(-1)


def pair(words, question, passage):
    """Return the tokens of a pair, truncated as the program does: the second text loses the excess.
    """
    first = [minilm.START, *words.encode(question).ids][: LONGEST // 2]
    both = [*first, minilm.END, *words.encode(passage).ids]
    return [*both[: LONGEST - 1], minilm.END]


@torch.no_grad()
def scores(model, words, question, passages):
    model.eval()
    rows = [pair(words, question, passage) for passage in passages]
    return torch.cat([model(minilm.rows_of(rows[at : at + 32])) for at in range(0, len(rows), 32)])


class Lists:
    """Training lists: a question, its passage, then wrong ones."""

    def __init__(self, seed, files, cache):
        self.dice = random.Random(seed)
        self.real = [one for file in files for one in natural_questions(file)]
        self.real += [(one, text, [said]) for _, text, _ in list(self.real) for one, said in stated.questions(text)]
        self.near = self.nearest(cache) if self.real else []
        self.world, self.left = None, 0

    def nearest(self, cache):
        """Return, per question, those whose questions are most similar by the embedder: their
        passages are the wrong ones. Computed once.
        """
        if cache.exists():
            return torch.load(cache, weights_only=True)
        asked = minilm.embed([question for question, _, _ in self.real])
        near = (asked @ asked.T).topk(NEAREST + 1, dim=1).indices
        cache.parent.mkdir(parents=True, exist_ok=True)
        torch.save(near, cache)
        return near

    def draw(self):
        return self.of_file() if self.real and self.dice.random() < 0.4 else self.of_world()

    def of_file(self):
        dice, at = self.dice, self.dice.randrange(len(self.real))
        question, gold, answers = self.real[at]
        wrong = []
        for other in dice.sample(self.near[at].tolist(), NEAREST):
            text = shorten(self.real[other][1], [], dice)
            # A passage of another question may contain the answer too.
            if other != at and not any(answer.lower() in text.lower() for answer in answers):
                wrong.append(text)
        return question, [shorten(gold, answers, dice), *wrong[: LIST - 1]]

    def of_world(self):
        dice = self.dice
        if self.left == 0:
            self.world, self.left = World(dice, spelt=0.5), 8
            self.writer = Writer(self.world)
        self.left -= 1
        facts = self.world.facts
        question = questions.one_hop(dice, dice.choice(facts))
        asked, last = question.steps[0], question.steps[0]
        form = dice.random()
        if form < 0.12 and (found := questions.pairs_to_compare(facts)):
            if compared := questions.compared(dice, *dice.choice(found)):
                question, asked = compared, dice.choice(compared.steps)
                last = asked
        elif form < 0.42 and (found := self.world.chains()):
            # Of two hops, only the passage of the first can be distinguished: the question names its subject.
            asked, last = dice.choice(found)
            question = questions.two_hop(dice, asked, last)
        right = self.writer.chunk(self.writer.about(asked.subject, dice.randint(1, 4), [asked]))
        steps, texts = set(question.steps), [right.text]
        like = [fact for fact in facts if fact.relation == asked.relation]
        same = [fact for fact in facts if fact.subject == asked.subject]
        like_last = [fact for fact in facts if fact.relation == last.relation and fact.subject != last.subject]
        for pool in (like, same, like_last, same, facts):
            pool = [fact for fact in pool if fact not in steps]
            if pool:
                wrong = dice.choice(pool)
                texts.append(self.writer.chunk(self.writer.about(wrong.subject, dice.randint(1, 3), [wrong], steps)).text)
        return question.text, texts[:LIST]


def mean_reciprocal_rank(ranked, cutoff=10):
    """Return the MRR@10. `ranked`: per question, whether each candidate is right, best first."""
    return sum(next((1 / place for place, right in enumerate(one[:cutoff], 1) if right), 0.0) for one in ranked) / max(
        1, len(ranked)
    )


def xquad(path, seed=7, count=300, pool=20):
    """Return (question, candidates, right) of held-out SQuAD articles: chunks of two sentences, the
    embedder's first ones and the right one.
    """
    dice = random.Random(seed)
    data = json.loads(Path(path).read_text())["data"]
    chunks, asked = [], []
    for article in data:
        for paragraph in article["paragraphs"]:
            text, starts = paragraph["context"], [0]
            for at, end in enumerate(re.finditer(r"[.!?]\s+(?=[A-Z])", text), 1):
                if at % UNIT_SENTENCES == 0:
                    starts.append(end.end())
            spans = list(zip(starts, [*starts[1:], len(text)]))
            first = len(chunks)
            chunks += [text[start:end] for start, end in spans]
            for qa in paragraph["qas"]:
                offset = qa["answers"][0]["answer_start"]
                right = next(at for at, (start, end) in enumerate(spans) if start <= offset < end)
                asked.append((qa["question"], first + right))
    asked = dice.sample(asked, min(count, len(asked)))
    return candidates([question for question, _ in asked], [{at} for _, at in asked], chunks, pool)


def demo_questions(split="held_out", pool=20):
    """Return the demo's questions over its own chunks by the embedder; right are the chunks that
    contain a piece of evidence.
    """
    chunks, files = [], []
    for path in sorted((demo.DEMO / "corpus").glob("*/*.*")):
        name = str(path.relative_to(demo.DEMO / "corpus"))
        sentences = re.split(r"(?<=[.!?])\s+", demo.text_of(name))
        here, count = [], 0
        for sentence in sentences:
            if here and count + len(sentence.split()) > demo.WORDS:
                chunks.append(" ".join(here))
                files.append(name)
                here, count = [], 0
            here.append(sentence)
            count += len(sentence.split())
        chunks.append(" ".join(here))
        files.append(name)
    asked = [one for one in demo.questions(split) if one["evidence"]]
    right = [
        {
            at
            for at, (chunk, file) in enumerate(zip(chunks, files))
            for place in one["evidence"]
            if file == place["file"] and re.sub(r"\s+", " ", place["quote"]) in chunk
        }
        for one in asked
    ]
    kept = [(one["question"], at) for one, at in zip(asked, right) if at]
    return candidates([question for question, _ in kept], [at for _, at in kept], chunks, pool)


def candidates(asked, right, chunks, pool):
    """Return the embedder's first chunks per question, in its order, and which of them are right.
    """
    model, words = minilm.MiniLm(), minilm.tokenizer()
    order = (
        (minilm.embed(asked, model, words) @ minilm.embed(chunks, model, words).T)
        .argsort(dim=1, descending=True)[:, :pool]
        .tolist()
    )
    return [
        (question, [chunks[at] for at in row], [at in good for at in row]) for question, row, good in zip(asked, order, right)
    ]


def evaluate(model, words, tests):
    """Return the MRR@10 of the embedder's order and of the reranker's."""
    result = {}
    for name, asked in tests.items():
        ranked = []
        for question, texts, right in asked:
            order = scores(model, words, question, texts).argsort(descending=True).tolist()
            ranked.append([right[at] for at in order])
        result[name] = {
            "questions": len(asked),
            "embedder": round(mean_reciprocal_rank([right for _, _, right in asked]), 4),
            "reranker": round(mean_reciprocal_rank(ranked), 4),
        }
    return result


def run(out, files, tests, *, seed=1, minutes=15.0, peak=1e-4, threads=0):
    """Train for the given minutes; writes `out`/reranker.pt."""
    torch.manual_seed(seed)
    if threads:
        torch.set_num_threads(threads)
    out.mkdir(parents=True, exist_ok=True)
    words, model, lists = minilm.tokenizer(WORDS), Reranker(), Lists(seed, files, out / "nearest.pt")
    checkpoint = out / "reranker.pt"
    if checkpoint.exists():
        model.load_state_dict(torch.load(checkpoint, weights_only=True))
    head = [p for name, p in model.named_parameters() if name.startswith("cls")]
    body = [p for name, p in model.named_parameters() if not name.startswith("cls") and "embd" not in name]
    optimizer = torch.optim.AdamW([{"params": body, "scale": 1.0}, {"params": head, "scale": 5.0}], weight_decay=0.01)
    step, mean_loss, began = 0, None, time.monotonic()
    while (elapsed := (time.monotonic() - began) / 60) < minutes:
        rate = peak * min(1, (step + 1) / 50) * max(0.02, 1 - elapsed / minutes)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        drawn = [one for one in (lists.draw() for _ in range(LISTS)) if len(one[1]) == LIST]
        rows = [pair(words, question, text) for question, texts in drawn for text in texts]
        model.train()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(minilm.rows_of(rows))
        logits = logits.float().view(len(drawn), LIST)
        # The order of the list, and a little of each pair alone, so that 0 separates relevant from irrelevant.
        truth = torch.zeros_like(logits)
        truth[:, 0] = 1
        apart = F.binary_cross_entropy_with_logits(logits, truth, pos_weight=torch.tensor(float(LIST - 1)))
        loss = F.cross_entropy(logits, torch.zeros(len(drawn), dtype=torch.long)) + 0.3 * apart
        loss.backward()
        torch.nn.utils.clip_grad_norm_(body, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        mean_loss = loss.item() if mean_loss is None else 0.97 * mean_loss + 0.03 * loss.item()
        if step % 50 == 0:
            print(f"{elapsed:.1f} min, step {step}, loss {mean_loss:.4f}", flush=True)
            torch.save(model.state_dict(), checkpoint)
    torch.save(model.state_dict(), checkpoint)
    print(json.dumps(evaluate(model, words, tests)), flush=True)
    return checkpoint
