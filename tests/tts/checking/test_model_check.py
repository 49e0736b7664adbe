"""`manage.py model_check`, and what an import says and does about it."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from auditlog.models import LogEntry
from django.conf import settings
from django.core.management import CommandError, call_command

from models_registry.models import ProfileCheck, Route
from models_registry.selectors import route_weights, version_spec_sync, version_verdicts
from models_registry.states import Verdict
from tests.speech.shared import VAR
from tests.tts.checking.hearing import FakeVoice
from tts.checking import speaking
from tts.engine.request import Profile
from tts.engines.chattts import layout
from tts.engines.chattts.random_checkpoint import Ends, RandomCheckpoint, Size
from tts.recognition.whisper import INSTALL, RecogniserError
from tts.services import chattts_speak, checks

pytestmark = pytest.mark.django_db

Run = Callable[..., str]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny checkpoint that speaks noise for about a second."""
    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    RandomCheckpoint(Size.TINY, ends=Ends.LIKELY).write(folder)
    return folder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; returns what it printed, errors too."""
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path)

    def run(*arguments: str) -> str:
        output = io.StringIO()
        call_command(*arguments, stdout=output, stderr=output)
        return output.getvalue()

    return run


@pytest.fixture
def voice(monkeypatch: pytest.MonkeyPatch) -> FakeVoice:
    """Speaks and hears in place of every version."""
    voice = FakeVoice()

    def speak(self: object, *arguments: object) -> object:
        return voice.speak(*arguments)  # type: ignore[arg-type]  # as VersionVoice.speak has them

    monkeypatch.setattr(speaking.VersionVoice, "speak", speak)
    monkeypatch.setattr(checks, "WhisperTranscriber", lambda folder: voice)
    return voice


@pytest.fixture
def real(weights: Path, tmp_path: Path) -> Path:
    """A checkpoint that does not say that it is random."""
    folder = tmp_path / "real"
    shutil.copytree(weights, folder)
    speaker = folder / "asset" / layout.SPEAKER
    kept = json.loads(speaker.read_text())
    speaker.write_text(json.dumps({"spk_stat": kept["spk_stat"]}))
    return folder


def test_verdicts_are_kept_and_told(
    run: Run, weights: Path, voice: FakeVoice, tmp_path: Path
) -> None:
    run("model_import", "chattts", str(weights), "--version", "1")
    voice.mishears = lambda loaded, line: loaded == (Profile.REALTIME, None) and line.seed == 1
    said = run("model_check", "chattts@1", "--json", str(tmp_path / "heard.json"))
    assert "chattts@1 reference: zh 0.0%, en 0.0% not understood" in said
    assert "chattts@1 realtime: worse, zh " in said
    assert "is loaded in the numbers of standard" in said
    assert "chattts@1 standard: passed" in said
    assert version_verdicts("chattts@1") == {
        "realtime": Verdict.WORSE, "standard": Verdict.PASSED, "hq": Verdict.PASSED
    }  # fmt: skip
    assert version_spec_sync("chattts@1").numbers == {"realtime": "standard"}
    heard = json.loads((tmp_path / "heard.json").read_text())
    assert [found["numbers"] for found in heard["profiles"]] == ["standard", "standard", "hq"]
    entry = LogEntry.objects.get_for_object(ProfileCheck.objects.get(profile="hq")).get()
    assert "model_check" in str(entry.additional_data)


def test_voices_are_the_versions_own(weights: Path, run: Run) -> None:
    run("model_import", "chattts", str(weights), "--version", "1")
    voice = speaking.VersionVoice(version_spec_sync("chattts@1"), threads=1)
    lines = voice.lines("zh", ["一", "二", "三"])
    assert [(line.voice, line.seed) for line in lines] == [
        ("chattts_1", 1), ("chattts_2", 2), ("chattts_3", 3)
    ]  # fmt: skip
    assert voice.lines("fr", ["un"]) == []


def test_a_try_keeps_nothing(run: Run, weights: Path, voice: FakeVoice) -> None:
    run("model_import", "chattts", str(weights), "--version", "1")
    assert "nothing is kept" in run("model_check", "chattts@1", "--sentences", "2")
    assert version_verdicts("chattts@1") == {}


@pytest.mark.speech
def test_random_weights_are_not_understood(
    run: Run, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "VAR_DIR", VAR)  # the recogniser's file is there already
    run("model_import", "chattts", str(weights), "--version", "1")
    said = run("model_check", "chattts@1", "--sentences", "1")
    for profile in Profile:
        assert f"chattts@1 {profile}: unintelligible" in said


def test_what_cannot_be_listened_to_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, said in (
        (["nothing@1"], "no version 'nothing@1'"),
        (["nothing@1", "--sentences", "0"], "--sentences is 1 to 20"),
    ):
        with pytest.raises(CommandError, match=said):
            run("model_check", *arguments)
    monkeypatch.setattr(checks, "missing_module", lambda: "jiwer")
    with pytest.raises(CommandError, match="no version 'nothing@1'"):
        run("model_check", "nothing@1")
    run("model_import", "tone", "--version", "1")
    with pytest.raises(CommandError, match=f"jiwer is not installed. Install it with: {INSTALL}"):
        run("model_check", "tone@1")


def test_weights_are_listened_to_when_they_are_imported(
    run: Run, real: Path, voice: FakeVoice
) -> None:
    silent = run("model_import", "chattts", str(real), "--version", "1", "--no-check")
    assert "chattts@1 is unverified" in silent
    assert voice.loads == []
    said = run("model_import", "chattts", str(real), "--version", "1")
    assert "chattts@1 realtime: passed" in said
    assert "unverified" not in said
    loads = len(voice.loads)
    assert "Listening" not in run("model_import", "chattts", str(real), "--version", "1")
    assert len(voice.loads) == loads


def test_int8_waits_until_somebody_has_listened(
    run: Run, real: Path, voice: FakeVoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(checks, "missing_module", lambda: "jiwer")
        said = run("model_import", "chattts", str(real), "--version", "1")
    assert "realtime computes in the numbers of standard and not in int8" in said
    assert f"manage.py model_check chattts@1; before that, {INSTALL}" in said
    assert version_verdicts("chattts@1") == {"realtime": Verdict.UNVERIFIED}
    assert version_spec_sync("chattts@1").numbers == {"realtime": "standard"}
    run("model_check", "chattts@1")
    assert version_spec_sync("chattts@1").numbers == {}


def test_random_weights_are_neither_listened_to_nor_unverified(
    run: Run, weights: Path, voice: FakeVoice
) -> None:
    said = run("model_import", "chattts", str(weights), "--version", "1")
    assert "Listening" not in said
    assert "unverified" not in said
    assert version_spec_sync("chattts@1").numbers == {}
    assert voice.loads == []


def test_one_step_listens_before_it_routes(real: Path, voice: FakeVoice) -> None:
    told: list[str] = []
    voice.mishears = lambda loaded, line: loaded == (Profile.REALTIME, None)

    def tell(line: str) -> None:
        assert not Route.objects.exists()
        told.append(line)

    said = chattts_speak(str(real), tell)
    (key,) = route_weights("tts-1")
    assert said == f"Speaking with {key} on chattts, tts-1, tts-1-hd."
    assert told[0] == f"Listening to {key}, once, which takes some minutes."
    assert any(line.startswith(f"{key} realtime: worse") for line in told)
    assert version_spec_sync(key).numbers == {"realtime": "standard"}
    told.clear()
    chattts_speak(str(real), tell)
    assert told == []


def test_weights_that_cannot_be_listened_to_speak_all_the_same(
    real: Path, voice: FakeVoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(folder: Path) -> object:
        raise RecogniserError("its file is damaged")

    monkeypatch.setattr(checks, "WhisperTranscriber", broken)
    told: list[str] = []
    said = chattts_speak(str(real), told.append)
    (key,) = route_weights("tts-1")
    assert told[-1] == f"{key} could not be listened to: its file is damaged"
    assert f"{key} is unverified" in said
    assert version_spec_sync(key).numbers == {"realtime": "standard"}
