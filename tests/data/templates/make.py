"""Renders the templates of this folder with transformers and writes `expected.json`.

    pip install transformers==5.23.0 jinja2==3.1.6
    python tests/data/templates/make.py
"""

import datetime
import json
import pathlib

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

FOLDER = pathlib.Path(__file__).parent


class Clock(datetime.datetime):
    """The time that `strftime_now` writes: that of the test."""

    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 5, 9, 30)


user = {"role": "user", "content": "Who keeps the lighthouse?"}
conversations = [
    [user],
    [{"role": "system", "content": " Be brief. "}, user],
    [{"role": "user", "content": '\n  Quote "<b>" & \'é\' {{ x }} \\n.\n\n'}],
    [user, {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nMara Voss. "}, {"role": "user", "content": "Since when?"}],
    [{"role": "system", "content": "Be brief. /no_think /system_override"}, user, {"role": "assistant", "content": "Mara."}, user],
    [user, user],
]


def main():
    chat_template_utils.datetime = Clock
    inner = Tokenizer(models.WordLevel({"<unk>": 0, "<s>": 1, "</s>": 2}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")
    cases = []
    for file in sorted(FOLDER.glob("*.jinja")):
        for turns in conversations:
            for thinking in (False, True):
                try:
                    text = tokenizer.apply_chat_template(
                        turns,
                        chat_template=file.read_text(),
                        tokenize=False,
                        add_generation_prompt=True,
                        enable_thinking=thinking,
                        thinking=thinking,
                        reasoning_effort="medium" if thinking else "low",
                    )
                except Exception as error:
                    print(f"{file.name}: {error}")
                    text = None
                cases.append({"template": file.name, "turns": turns, "thinking": thinking, "text": text})
    (FOLDER / "expected.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
