"""Makes the bundled models, one command per model. Run in `assets/models`."""

import argparse
import json
from pathlib import Path

from . import preflight

MODELS = Path(__file__).resolve().parents[1]
SQUAD = "files of SQuAD 2.0, as published or one question a line (gzip)"
# How often size L is examined in a training on a GPU.
EXAMINATIONS = 8


def arguments():
    parser = argparse.ArgumentParser(prog="python -m recipe", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, help, minutes):
        made = commands.add_parser(name, help=help)
        made.add_argument(
            "--work", type=Path, default=Path("work") / name, help="where checkpoints go; a run is continued from there"
        )
        made.add_argument("--seed", type=int, default=1)
        if minutes:
            made.add_argument(
                "--minutes", type=float, default=minutes, help="length of the training; the learning rate falls over it"
            )
            made.add_argument("--threads", type=int, default=0, help="processor threads; 0 takes all")
        return made

    made = command("generator", "train the generator and write its GGUF", 180.0)
    made.add_argument("--size", choices=("S", "M", "L"), default="M", help="S from nothing, M from a part of SmolLM2-135M, L all")
    made.add_argument("--start", type=Path, help="a GGUF or checkpoint of this recipe to go on from instead")
    made.add_argument(
        "--questions", type=Path, nargs="*", default=[], help="nq-open-oracle.jsonl.gz files to read besides worlds"
    )
    made.add_argument(
        "--documents", type=Path, nargs="*", default=[], help="folders of documents, whose sentences are asked about"
    )
    made.add_argument("--squad", type=Path, nargs="*", default=[], help=f"{SQUAD}, to read besides worlds")
    made.add_argument("--device", choices=("cpu", "cuda"), help="without it a GPU where PyTorch finds one")
    made.add_argument("--plain", action="store_true", help="do not fuse the blocks (no C++ compiler)")
    made.add_argument("--out", type=Path, help="the GGUF to write; without it the bundled one")
    made = command("sentences", "train the sentence-level model and write its GGUF", 2.0)
    made.add_argument(
        "--documents",
        type=Path,
        nargs="*",
        default=[Path("/usr/share/doc"), Path("/usr/share/man/man1"), Path("/usr/share/man/man7")],
    )
    made.add_argument("--files", type=int, default=2000, help="how many runs of units to take from the documents")
    made.add_argument("--worlds", type=int, default=200, help="how many worlds' articles to add")
    made.add_argument("--out", type=Path, default=MODELS / "ragscope-sentences.F16.gguf")
    made = command("reranker", "train the reranker and write its GGUF", 15.0)
    made.add_argument("--questions", type=Path, nargs="*", default=[], help="nq-open-oracle.jsonl.gz files")
    made.add_argument("--xquad", type=Path, help="xquad.en.json, for evaluation alone")
    made.add_argument("--out", type=Path, default=MODELS / "ragscope-reranker.Q5_0.gguf")
    made = command("embedder", "convert all-MiniLM-L6-v2 from its PyPI package", None)
    made.add_argument("--out", type=Path, default=MODELS / "all-MiniLM-L6-v2.Q8_0.gguf")
    made = command("evaluate", "examine a generator on held-out worlds and the demo's questions", None)
    made.add_argument(
        "--model", type=Path, default=MODELS / "ragscope-demo.Q8_0.gguf", help="a GGUF or checkpoint of this recipe"
    )
    made.add_argument("--groups", type=int, default=600, help="groups of held-out examples")
    made.add_argument("--split", choices=("tune", "held_out"), default="held_out", help="of the demo's questions")
    made.add_argument("--questions", type=Path, nargs="*", default=[], help="nq-open-oracle.jsonl.gz files: those held out")
    made.add_argument("--squad", type=Path, nargs="*", default=[], help=f"{SQUAD}: the articles held out")
    made = command("unseen", "write the questions and documents of XQuAD that no training file has", None)
    made.add_argument("--xquad", type=Path, required=True, help="xquad.en.json")
    made.add_argument("--squad", type=Path, nargs="*", default=[], help=SQUAD)
    made.add_argument("--questions", type=Path, nargs="*", default=[], help="nq-open-oracle.jsonl.gz files")
    made.add_argument("--out", type=Path, default=Path("work") / "unseen", help="a folder")
    made = command("world", "write the documents of a random world and questions over them", None)
    made.add_argument("--count", type=int, default=60, help="how many questions have an answer; a fifth more have none")
    made.add_argument("--out", type=Path, default=Path("work") / "world", help="a folder")
    commands.add_parser("check", help="hold the recipe against the prompts, the names and itself")
    commands.add_parser("list", help="write the sizes and sums of the model files into MODELS.md")
    return parser.parse_args()


BUNDLED = {"S": "ragscope-demo.Q8_0.gguf", "M": "ragscope-reader.Q5_0.gguf", "L": "ragscope-reader.Q5_0.gguf"}


def generator(asked):
    from . import export, network, pretrained, reading, real, tasks, train

    out = asked.out or MODELS / BUNDLED[asked.size]
    options = {"spelt": tasks.SPELT[asked.size], "real": real.questions(asked.questions, folders=asked.documents)}
    if asked.squad:
        options["articles"] = reading.read_all(asked.squad)
    held_out = real.questions(asked.questions, held_out=True)
    more = {
        "seed": asked.seed,
        "options": options,
        "held_out": held_out,
        "articles": reading.read_all(asked.squad, held_out=True),
        "threads": asked.threads,
        "fuse": not asked.plain,
        "device": train.device_of(asked.device),
    }
    if asked.size == "L":
        more["pace"] = train.LARGE[more["device"].type]
        if more["device"].type == "cpu":
            # An examination would take longer than what is examined: the log has each batch's answers before its step.
            more |= {"log_steps": 5, "evaluate_minutes": None}
        else:
            more |= {"evaluate_minutes": asked.minutes / EXAMINATIONS, "five_bits": export.kind_of(out) == export.Q5_0}
    if asked.start or asked.size == "S":

        def start():
            return train.finished(asked.start) if asked.start else train.scratch()

        optimisers = train.muon if asked.size == "S" else train.adam
        if asked.start:
            # A network that reads already needs no short contexts first, and forgets at the full rate.
            optimisers, more["first_level"] = train.adam_gently, 0.9
            more["five_bits"] = export.kind_of(out) == export.Q5_0
        trained = train.run(asked.work, start, optimisers, minutes=asked.minutes, **more)
    elif asked.size == "L":
        trained = train.run(asked.work, pretrained.whole, train.adam_whole, minutes=asked.minutes, **more)
    else:
        spent = asked.minutes * pretrained.FIRST_SHARE
        first = train.run(asked.work / "first", pretrained.decoder, train.adam, minutes=spent, first_level=0.6, **more)

        def fewer():
            return pretrained.drop_layers(network.load(first)[0], pretrained.vocabulary().tokenizer(), pretrained.LAST_LAYERS)

        trained = train.run(asked.work, fewer, train.adam, minutes=asked.minutes - spent, first_level=0.8, **more)
    export.generator(trained, out)


def main():
    asked = arguments()
    if asked.command == "generator":
        files = [*asked.questions, *asked.documents, *asked.squad, *filter(None, [asked.start])]
        preflight.check(f"generator {asked.size}", files)
        generator(asked)
    elif asked.command == "sentences":
        preflight.check("sentences", asked.documents)
        from . import export, sentences

        trained = sentences.run(
            asked.work,
            asked.documents,
            seed=asked.seed,
            minutes=asked.minutes,
            files=asked.files,
            worlds=asked.worlds,
            threads=asked.threads,
        )
        export.sentences(trained, asked.out)
    elif asked.command == "reranker":
        preflight.check("reranker", [*asked.questions, *filter(None, [asked.xquad])])
        from . import export, reranker

        tests = {"demo": reranker.demo_questions()} | ({"xquad": reranker.xquad(asked.xquad)} if asked.xquad else {})
        trained = reranker.run(
            asked.work, asked.questions, tests, seed=asked.seed, minutes=asked.minutes, threads=asked.threads
        )
        export.reranker(trained, asked.out)
    elif asked.command == "embedder":
        preflight.check("embedder")
        from . import minilm_to_gguf

        minilm_to_gguf.convert(asked.out)
    elif asked.command == "check":
        preflight.packages()
        from . import check

        check.run()
    elif asked.command == "list":
        preflight.packages()
        from . import listing

        listing.write()
    elif asked.command == "world":
        from . import worlds

        print(worlds.write(asked.out, asked.seed, asked.count))
    elif asked.command == "unseen":
        preflight.check("unseen", [asked.xquad, *asked.squad, *asked.questions])
        from . import unseen

        print(unseen.write(asked.xquad, asked.squad, asked.questions, asked.out))
    else:
        preflight.check("evaluate", [asked.model, *asked.questions, *asked.squad])
        from . import evaluate, reading, real

        held_out = real.questions(asked.questions, held_out=True)
        articles = reading.read_all(asked.squad, held_out=True)
        found = evaluate.examine(asked.model, asked.groups, asked.seed, asked.split, held_out, articles)
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
