"""Engines are found by name and imported only when used."""

import subprocess
import sys

import pytest

from tts.engine.errors import VersionUnavailable
from tts.engines import registry
from tts.engines.registry import engine_create
from tts.engines.tone.engine import ToneEngine


def test_an_engine_is_made_by_name() -> None:
    assert isinstance(engine_create("tone"), ToneEngine)
    assert engine_create("tone") is not engine_create("tone")


def test_an_unknown_name_is_answered_with_those_that_exist() -> None:
    with pytest.raises(VersionUnavailable, match=r"'tune'.*kokoro, tone"):
        engine_create("tune")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.ENGINES, "other", "a_package_that_is_missing.engine:Engine")
    with pytest.raises(VersionUnavailable, match="a_package_that_is_missing"):
        engine_create("other")


def test_the_table_imports_no_engine() -> None:
    code = (
        "import sys, tts.engines.registry\n"
        "print([m for m in sys.modules if m.startswith(('tts.engines.tone', 'tts.engines.kokoro',"
        " 'onnxruntime', 'torch'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
