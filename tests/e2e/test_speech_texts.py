"""Texts that other servers mispronounce, drop or read out: what the platform would say."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.platform import ROOT

pytestmark = pytest.mark.e2e

# Text, what is said.
TEXTS = [
    ("今年4月15日", "今年四月十五日"),
    ("现在是19点17", "现在是十九点十七"),
    ("我有345元钱", "我有三百四十五元钱"),
    ("我们（测试）100%完成", "我们，测试，百分之百完成"),
    ("也很受欢迎？", "也很受欢迎？"),
    (
        "What is [uv_break]your favorite english food?[laugh][lbreak]",
        "What is your favorite english food?",
    ),
    ("停顿啊[uv_break]语气词啊", "停顿啊语气词啊"),
    (" I am happy to join with you today", "I am happy to join with you today"),
    (
        "Kokoro 是一系列体积虽小但功能强大的 TTS 模型。",
        "Kokoro 是一系列体积虽小但功能强大的 TTS 模型。",
    ),
    ("Great job! 🎉👍", "Great job!"),
    ("- **Modify** streaming.", "Modify streaming."),
    ("See [the guide](https://example.com/a?b=1) for more.", "See the guide for more."),
    ("It made $5.3 billion.", "It made five point three billion dollars."),
    ("It is $100 after 9:30PM.", "It is one hundred dollars after nine thirty PM."),
    ("About 1k users in 1999.", "About one thousand users in nineteen ninety-nine."),
    ("Call 555-123-4567 now.", "Call five five five, one two three, four five six seven now."),
]  # fmt: skip


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The segments of every text, from one run of the command."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "say", "--dry-run", "--lines"],
        input="".join(f"{text}\n" for text, _ in TEXTS),
        env=os.environ | {"VAR_DIR": str(tmp_path_factory.mktemp("var"))},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return {text: line["segments"] for (text, _), line in zip(TEXTS, lines, strict=True)}


@pytest.mark.parametrize(("text", "said"), TEXTS, ids=[text for text, _ in TEXTS])
def test_text_is_said_as_a_reader_would(
    plans: dict[str, list[dict[str, Any]]], text: str, said: str
) -> None:
    segments = plans[text]
    assert " ".join(segment["spoken"] for segment in segments) == said
    assert all(segment["source"] == text[segment["start"] : segment["end"]] for segment in segments)


def test_english_inside_chinese_is_english(plans: dict[str, list[dict[str, Any]]]) -> None:
    (segment,) = plans["Kokoro 是一系列体积虽小但功能强大的 TTS 模型。"]
    assert [(span["language"], span["spoken"]) for span in segment["spans"]] == [
        ("en", "Kokoro"),
        ("zh", "是一系列体积虽小但功能强大的"),
        ("en", "TTS"),
        ("zh", "模型。"),
    ]
