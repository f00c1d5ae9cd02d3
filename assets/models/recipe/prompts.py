"""The prompts of the program, read from the files that it embeds, so that training and use cannot
differ.
"""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "prompts"
NAMES = (
    "qa_short",
    "qa_closed",
    "qa_grounded",
    "step_by_step",
    "rephrase",
    "entailment",
    "self_evaluate",
    "grade",
    "grade_reflect",
    "grade_critic",
    "judge_relevant",
    "rewrite_query",
    "make_question",
    "write_question",
)
MISSING = [name for name in NAMES if not (FOLDER / f"{name}.md").is_file()]
if MISSING:
    raise SystemExit(f"prompts missing in {FOLDER}: {', '.join(MISSING)}")
TEXTS = {name: (FOLDER / f"{name}.md").read_text().rstrip("\n") for name in NAMES}
USER, ASSISTANT, END = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>"


def fill(name, **values):
    """Fill the placeholders of a prompt in one pass, as the program does."""
    text = TEXTS[name]
    parts, rest = [], text
    while "{" in rest:
        before, _, after = rest.partition("{")
        key, closed, tail = after.partition("}")
        if closed and key in values:
            parts += [before, str(values[key])]
            rest = tail
        else:
            parts += [before, "{"]
            rest = after
    return "".join(parts) + rest
