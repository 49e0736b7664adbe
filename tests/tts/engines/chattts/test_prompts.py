"""Prompts have the ids that ChatTTS' own tokenizer and decorators give, and no others."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tts.engines.chattts.marks import marked
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.audio_library import audio_library
from tts.engines.chattts.random_tokenizer import tokenizer_write
from tts.engines.chattts.tokens import Vocabulary
from tts.text.segment import Mark

PARTS = ("[", "]", "laugh", "spk_emb", "Stts", "UNK", "#", " ", "_")
TEXTS = (
    "hello world",
    "Hello, World! It's a TEST; voice?",
    "你好，世界。今天天气很好",
    "你好 hello 再 test，ok",
    "  spaces \t and\nlines ",
    "unknown 龘 words zzz and ünïcode",
    "",
)


@pytest.fixture(scope="module", params=["tiny", "full"])
def tokenizers(request: pytest.FixtureRequest, tmp_path_factory: Any) -> tuple[Any, Vocabulary]:
    """ChatTTS' tokenizer and ours, of the same files."""
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer_write(folder, full=request.param == "full")
    with audio_library():
        from ChatTTS.model.tokenizer import Tokenizer
    path = folder / layout.TOKENIZER
    return Tokenizer(str(path.parent)), Vocabulary.read(path.read_bytes())


def _original(tokenizer: Any, text: str) -> list[int]:
    ids, _, mask = tokenizer.encode([text], 4)
    assert bool(mask.all())
    return [int(number) for number in ids[0, :, 0]]


@pytest.mark.parametrize("text", TEXTS)
def test_code_prompt(tokenizers: tuple[Any, Vocabulary], text: str) -> None:
    from ChatTTS.model.speaker import Speaker

    original, ours = tokenizers
    for speaker in (None, "x"):
        for transcript in ("", "good morning", "是的。"):
            for controls in ((), ("speed_5",)):
                prompt = "".join(f"[{name}]" for name in controls)
                (decorated,) = Speaker.decorate_code_prompts([text], prompt, transcript, speaker)
                mine = ours.code_prompt(
                    [text.strip()], controls, transcript, speaker=speaker is not None
                )
                assert list(mine.ids) == _original(original, decorated)
                at = mine.speaker_at
                assert at is None if speaker is None else mine.ids[at or 0] == original.spk_emb_ids


@pytest.mark.parametrize("text", TEXTS)
def test_refine_prompt(tokenizers: tuple[Any, Vocabulary], text: str) -> None:
    from ChatTTS.model.speaker import Speaker

    original, ours = tokenizers
    (decorated,) = Speaker.decorate_text_prompts([text], "[oral_2][laugh_0][break_6]")
    mine = ours.refine_prompt([text], ("oral_2", "laugh_0", "break_6"))
    assert list(mine.ids) == _original(original, decorated)
    assert ours.end_of_refinement == original.eos_token
    assert ours.size == original.len


def test_marks_stand_where_they_were(tokenizers: tuple[Any, Vocabulary]) -> None:
    original, ours = tokenizers
    marks = (Mark("laugh", 0), Mark("uv_break", 5), Mark("lbreak", 5), Mark("laugh", 11))
    pieces = marked(ours, "hello world", marks)
    expected = _original(original, "[laugh]hello[uv_break][lbreak] world[laugh]")
    assert list(ours.encode(pieces)) == expected
    decoded = ours.decode(expected)
    assert decoded == original.decode([expected])[0]
    assert [part for part in decoded.split(" ") if part] == [
        *("[laugh]", "hello", "[uv_break]", "[lbreak]", "world", "[laugh]")
    ]


@given(st.lists(st.sampled_from(PARTS), max_size=20).map("".join))
@example("[laugh][Stts][spk_emb][Ptts][Ebreak][speed_9][PAD][UNK][unused1]")
def test_text_never_becomes_a_control_token(vocabulary: Vocabulary, text: str) -> None:
    ids = set(vocabulary.code_prompt([text], ("speed_5",), text).ids)
    framing = {vocabulary.token(name) for name in ("Stts", "empty_spk", "speed_5", "Ptts")}
    assert ids & set(vocabulary.tokens.values()) == framing


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    """A small vocabulary."""
    folder = tmp_path_factory.mktemp("vocabulary")
    tokenizer_write(folder, full=False)
    return Vocabulary.read((folder / layout.TOKENIZER).read_bytes())


def test_tokenizers_that_are_none(chattts_tiny: Path) -> None:
    content = (chattts_tiny / "asset" / layout.TOKENIZER).read_bytes()
    for damaged in (b"", b"{}", b"[1]", content[:-100], b"\xff\xfe", b'"model"'):
        with pytest.raises(VersionUnavailable, match="is no tokenizer"):
            Vocabulary.read(damaged)
    with pytest.raises(VersionUnavailable, match=r"token \[laugh\] is missing"):
        Vocabulary.read(content.replace(b'"[laugh]"', b'"[laughs]"'))
