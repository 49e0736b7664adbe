"""An error message names what a client sent, and does not send it back."""

import pytest

from coordination.clipping import clipped


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("af_heart", "'af_heart'"), ("", "''"), ("it's", '"it\'s"'), ("a\0\n", r"'a\x00\n'"),
        ("\ud800", r"'\ud800'"), (7, "7"), (None, "None"), (["a"], "['a']"), ("晓晓", "'晓晓'"),
    ],
)  # fmt: skip
def test_short_values_are_shown_whole(value: object, shown: str) -> None:
    assert clipped(value) == shown


def test_long_values_are_cut() -> None:
    assert clipped("a" * 80) == f"'{'a' * 80}'"
    assert clipped("a" * 81) == f"'{'a' * 80}…'"
    assert clipped("a" * 9, 4) == "'aaaa…'"
    assert clipped(10**4_200) == "1" + "0" * 79 + "…"


@pytest.mark.parametrize("value", ["x" * 10**6, "\U0010ffff" * 10**6, "\0" * 81, ["a"] * 1_000])
def test_nothing_makes_it_longer(value: object) -> None:
    assert len(clipped(value)) <= 83
