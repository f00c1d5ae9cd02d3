#!/usr/bin/env python3
"""Keys and values of chunks that were read before, moved to where they are needed: what it saves, what it loses.

    reuse.py check  MODEL FOLDER                               the machinery: what must change nothing changes nothing
    reuse.py run    MODEL JOURNAL NAME=QUESTIONS:FOLDER ...    asks; --ways full,prefix-0,alone-15 --count 100
    reuse.py report JOURNAL                                    the tables

Needs llama-cpp-python and numpy. One thread, greedy, flash attention, 16-bit keys and values; the journal continues
after a stop. A way is `full` (all in one batch), `split` (a batch for each chunk, as for kept ones: what rounding does),
`shifted` (the same, all moved by 300 before the question) or FROM-SHARE: chunks computed behind the instructions
(`prefix`) or by themselves (`alone`), of which the first SHARE percent of the tokens are recomputed in place.
"""

import argparse
import collections
import ctypes
import json
import math
import os
import pathlib
import random
import re
import string
import time

import numpy as np

INSTRUCTIONS = (
    "<|im_start|>system\nYou answer questions from the sources below. Read all of them; some do not matter. Answer with the "
    "shortest phrase that is correct: a name, a place, a date, a number, or yes or no. Copy the words of the sources where "
    "they hold the answer. Give no explanation and no full sentence, do not repeat the question, and write nothing after "
    "the answer. If two sources have to be put together, do so silently.<|im_end|>\n<|im_start|>user\nSources:\n\n")
QUESTION = "Question: {}<|im_end|>\n<|im_start|>assistant\n"
CHUNK, CHUNKS, ANSWER = 128, 3, 24  # tokens of a chunk, chunks of a prompt, tokens of an answer


class Reader:
    """A model with one context: sequence 0 is the prompt, sequence 1 where a chunk is computed and moved."""

    def __init__(self, file):
        import llama_cpp
        self.c = c = llama_cpp
        c.llama_backend_init()
        self.quiet = c.llama_log_callback(lambda level, text, data: None)
        c.llama_log_set(self.quiet, None)
        options = c.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch, options.n_seq_max = 1024, 1024, 512, 2
        options.n_threads = options.n_threads_batch = 1
        options.kv_unified, options.flash_attn_type, options.no_perf = True, 1, True
        model = c.llama_model_load_from_file(str(file).encode(), c.llama_model_default_params())
        self.context = c.llama_init_from_model(model, options)
        self.memory, self.vocabulary = c.llama_get_memory(self.context), c.llama_model_get_vocab(model)
        self.batch, self.store = c.llama_batch_init(1024, 0, 1), {}
        self.head = self.tokens(INSTRUCTIONS)
        self.evaluate(self.head, 0)
        self.store["head"] = self.keep(0)

    def tokens(self, text):
        data = text.encode()
        out = (self.c.llama_token * (len(data) + 8))()
        return out[:self.c.llama_tokenize(self.vocabulary, data, len(data), out, len(out), False, True)]

    def evaluate(self, tokens, at, sequence=0):
        """Decodes tokens from a position on; returns the logits behind the last one, which the next call overwrites."""
        self.batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            self.batch.token[i], self.batch.pos[i], self.batch.n_seq_id[i] = token, at + i, 1
            self.batch.seq_id[i][0], self.batch.logits[i] = sequence, i == len(tokens) - 1
        assert self.c.llama_decode(self.context, self.batch) == 0
        size = self.c.llama_vocab_n_tokens(self.vocabulary)
        return np.ctypeslib.as_array(self.c.llama_get_logits_ith(self.context, -1), (size,))

    def keep(self, sequence):
        data = (ctypes.c_uint8 * self.c.llama_state_seq_get_size(self.context, sequence))()
        self.c.llama_state_seq_get_data(self.context, data, len(data), sequence)
        return data

    def restore(self, name, sequence, clear=False):
        if clear:
            self.c.llama_memory_clear(self.memory, False)
        assert self.c.llama_state_seq_set_data(self.context, self.store[name], len(self.store[name]), sequence)

    def read(self, chunk, source):
        """Computes the keys and values of a chunk, once; returns where they are kept and the position of the first."""
        name, start = (source, *chunk), len(self.head) if source == "prefix" else 0
        if name not in self.store:
            self.restore("head", 1, clear=True)
            self.c.llama_memory_seq_rm(self.memory, 1, start, -1)
            self.evaluate(chunk, start, 1)
            self.c.llama_memory_seq_rm(self.memory, 1, 0, start)
            self.store[name] = self.keep(1)
        return name, start

    def prompt(self, chunks, question, way):
        """Returns the logits behind the prompt, its length, the tokens evaluated and the seconds of the processor."""
        source, _, share = way.partition("-")
        kept = [self.read(chunk, source) if share else None for chunk in chunks]
        begin, evaluated, waiting, at = time.process_time(), 0, [], len(self.head)
        self.restore("head", 0, clear=True)
        for chunk, one in zip(chunks, kept):
            first = math.ceil(len(chunk) * int(share) / 100) if share else len(chunk)
            waiting += chunk[:first]
            if waiting and (first < len(chunk) or way in ("split", "shifted")):
                self.evaluate(waiting, at)
                at, evaluated, waiting = at + len(waiting), evaluated + len(waiting), []
            if first < len(chunk):  # the kept rest, moved from where it was computed
                name, start = one
                self.restore(name, 1)
                self.c.llama_memory_seq_rm(self.memory, 1, 0, start + first)
                self.c.llama_memory_seq_add(self.memory, 1, start + first, -1, at - start - first)
                self.c.llama_memory_seq_cp(self.memory, 1, 0, -1, -1)
                self.c.llama_memory_seq_rm(self.memory, 1, -1, -1)
                at += len(chunk) - first
        if way == "shifted":  # attention sees distances only: this must change nothing
            self.c.llama_memory_seq_add(self.memory, 0, 0, -1, 300)
            at += 300
        waiting += question
        logits = self.evaluate(waiting, at)
        return logits, at + len(waiting), evaluated + len(waiting), time.process_time() - begin

    def answer(self, logits, at):
        text, out = b"", ctypes.create_string_buffer(256)
        for at in range(at, at + ANSWER):
            token = int(logits.argmax())
            size = self.c.llama_token_to_piece(self.vocabulary, token, out, 256, 0, False)
            if self.c.llama_vocab_is_eog(self.vocabulary, token) or b"\n" in out.raw[:size]:
                break
            text += out.raw[:size]
            logits = self.evaluate([token], at)
        return text.decode(errors="replace").strip()


def windows(reader, folder):
    """Cuts the Markdown files of a folder into whole sentences of a paragraph, up to CHUNK tokens with the title."""
    for file in sorted(pathlib.Path(folder).glob("*.md")):
        title, _, body = file.read_text().partition("\n")
        for paragraph in body.split("\n\n"):
            now = ""
            for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())) + [None]:
                more = f"{now} {sentence}".strip()
                if now and (sentence is None or len(reader.tokens(f"{title[2:]}\n{more}\n\n")) > CHUNK):
                    yield f"{title[2:]}\n{now}\n\n"
                    more = sentence
                now = more


def questions(reader, file, folder, count):
    """Yields questions with the tokens of their chunks: those that hold the evidence and the nearest others by BM25."""
    texts, places, taken = list(windows(reader, folder)), collections.defaultdict(list), 0
    counts = [collections.Counter(re.findall(r"\w+", text.lower())) for text in texts]
    lengths = np.array([one.total() for one in counts])
    for i, one in enumerate(counts):
        for word, times in one.items():
            places[word].append((i, times))
    for one in map(json.loads, open(file)):
        gold = list(dict.fromkeys(next((i for i, text in enumerate(texts) if part in text), None) for part in one["evidence"]))
        if taken == count or None in gold or len(gold) >= CHUNKS or any(len(reader.tokens(texts[i])) > CHUNK + 32 for i in gold):
            continue
        score = np.zeros(len(texts))
        for word in set(re.findall(r"\w+", one["question"].lower())):
            rarity = math.log(1 + (len(texts) - len(places[word]) + 0.5) / (len(places[word]) + 0.5))
            for i, times in places[word]:
                score[i] += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * lengths[i] / lengths.mean()))
        gold += [int(i) for i in np.argsort(-score, kind="stable") if i not in gold][:CHUNKS - len(gold)]
        random.Random(one["id"]).shuffle(gold)
        taken += 1
        yield one, [reader.tokens(texts[i])[:CHUNK] for i in gold], reader.tokens(QUESTION.format(one["question"]))


def normal(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def f1(ours, theirs):
    both = (collections.Counter(ours) & collections.Counter(theirs)).total()
    return 2 * both / (len(ours) + len(theirs)) if both else float(ours == theirs)


def journal(file):
    rows = {}
    for row in map(json.loads, open(file)) if os.path.exists(file) else []:
        rows.setdefault(row["id"], row)["ways"].update(row["ways"])
    return rows


def run(args):
    reader, done = Reader(args.model), journal(args.place)
    asked = [[(name, *one) for one in questions(reader, *place.split(":"), args.count)]
             for name, place in (one.split("=") for one in args.sets)]
    for turn, (name, one, chunks, question) in enumerate(item for row in zip(*asked) for item in row):
        ways = [way for way in args.ways.split(",") if way not in done.get(one["id"], {"ways": {}})["ways"]]
        row, spread = {"set": name, "id": one["id"], "chunks": sum(map(len, chunks)), "ways": {}}, {}
        for way in ways and ways[turn % len(ways):] + ways[:turn % len(ways)]:
            logits, at, evaluated, seconds = reader.prompt(chunks, question, way)
            spread[way] = logits - np.logaddexp.reduce(logits.astype(np.float64))
            text, golds = reader.answer(logits, at), [normal(gold) for gold in one["answers"]]
            row["ways"][way] = {"text": text, "em": float(normal(text) in golds), "tokens": evaluated, "first": seconds,
                                "f1": max(f1(normal(text), gold) for gold in golds)}
        for way in ways if "full" in spread else []:
            row["ways"][way]["kl"] = float((np.exp(spread["full"]) * (spread["full"] - spread[way])).sum())
        with open(args.place, "a") as out:
            out.write(json.dumps(row) + "\n" if ways else "")


def check(args):
    reader = Reader(args.model)
    texts = [reader.tokens(text)[:CHUNK] for text in list(windows(reader, args.place))[:200:60][:CHUNKS]]
    question, seen = reader.tokens(QUESTION.format("What are the sources about?")), {}
    for count, way, other in [(3, "full", 0), (3, "prefix-100", "full"), (3, "split", "full"), (3, "shifted", "split"),
                              (3, "prefix-0", "full"), (3, "alone-0", "full"), (1, "split", 0), (1, "prefix-0", "split")]:
        logits, at, *_ = reader.prompt(texts[:count], question, way)
        seen[count, way] = logits.copy(), reader.answer(logits, at)
        if other:
            (a, ours), (b, theirs) = seen[count, way], seen[count, other]
            print(f"{count} chunks, {way} against {other}: logits differ by {abs(a - b).max():.4f} (spread {b.std():.2f})",
                  "same text" if ours == theirs else f"{theirs!r} became {ours!r}", sep=", ")


def report(args):
    rows, pick = list(journal(args.model).values()), np.random.default_rng(0)
    for name in [*dict.fromkeys(row["set"] for row in rows), "both"]:
        every = [row for row in rows if name in (row["set"], "both")]
        print(f"\n{name}: {np.mean([row['chunks'] for row in every]):.0f} tokens of chunks\n")
        print("| Way | n | EM | difference | F1 | difference | same text | tokens | first word, s | ratio | KL |")
        print("|---" * 11 + "|")
        for way in sorted(every[0]["ways"], key=lambda way: (way != "full", way)):
            some = [row["ways"] for row in every if way in row["ways"] and "full" in row["ways"]]
            get = lambda way, key: np.array([row[way].get(key, np.nan) for row in some])
            again, cells = pick.integers(0, len(some), (10_000, len(some))), [way, str(len(some))]
            for key in "em", "f1":
                lost = 100 * (get(way, key) - get("full", key))
                low, high = np.percentile(lost[again].mean(1), [2.5, 97.5])
                cells += [f"{100 * get(way, key).mean():.1f}", f"{lost.mean():+.1f} [{low:+.1f}, {high:+.1f}]"]
            same, seconds, full = (get(way, "text") == get("full", "text")).mean(), get(way, "first"), get("full", "first")
            cells += [f"{100 * same:.0f} %", f"{get(way, 'tokens').mean():.0f}", f"{seconds.mean():.2f}",
                      f"{seconds.mean() / full.mean():.2f}", f"{np.nanmean(get(way, 'kl')):.3f}"]
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["check", "run", "report"])
    parser.add_argument("model")
    parser.add_argument("place", nargs="?")
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--ways", default="full,prefix-0,prefix-15,prefix-30")
    parser.add_argument("--count", type=int, default=100)
    chosen = parser.parse_args()
    globals()[chosen.what](chosen)
