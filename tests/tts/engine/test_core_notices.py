"""What an engine notices of an utterance is logged with whose it is."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.tts.engine.core_harness import FakeEngine, Recorder, speech
from tts.engines.base import StepResult, Utterance


class Noticing(FakeEngine):
    """Notices something as its utterances end."""

    def step(self, active: Sequence[Utterance]) -> list[StepResult]:
        return [
            replace(result, notice="it was cut" if result.finished else "")
            for result in super().step(active)
        ]


def test_a_notice_names_request_tenant_and_version(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    recorder.add(Noticing(recorder.clock))
    request = speech("a", tenant_id="tenant-7")
    recorder.speak(request, "secret words")
    recorder.run()
    assert recorder.ended("a")
    (record,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    said = record.getMessage()
    assert said.startswith("it was cut (")
    for part in ("request a,", "tenant tenant-7,", f"version {request.version},"):
        assert part in said
    assert "secret" not in said
