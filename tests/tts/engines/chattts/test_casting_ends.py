"""An engine that is closed ends the thread that hears recordings, and what waits for it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from tests.tts.engines.chattts.speaking import Bench, voice_of
from tts.engine.request import Profile, VoiceSpec
from tts.engines.chattts import casting
from tts.engines.chattts.recording import RecordingEncoder
from tts.engines.chattts.voice import Recording, material_pack


def heard_as(name: str) -> VoiceSpec:
    return voice_of(material_pack(Recording(name.encode(), name)))


@pytest.fixture
def hears(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have a recording's hearing call something, whatever is in the recording."""

    def install(heard: Callable[[], None]) -> None:
        def encode(encoder: RecordingEncoder, samples: object) -> object:
            heard()
            return np.zeros((4, 2), np.uint16)

        monkeypatch.setattr(casting, "audio_read", lambda *arguments: np.zeros(1, np.float32))
        monkeypatch.setattr(RecordingEncoder, "encode", encode)

    return install


def test_the_thread_ends_with_the_engine(
    chattts_tiny: Path, hears: Callable[[Callable[[], None]], None]
) -> None:
    threads: list[threading.Thread] = []
    hears(lambda: threads.append(threading.current_thread()))
    bench = Bench.load(chattts_tiny, Profile.STANDARD)
    bench.prepare("hello", heard_as("anna")).payload.speaker.result(60)  # type: ignore[attr-defined]
    (thread,) = threads
    assert thread.is_alive()
    bench.engine.close()
    assert not thread.is_alive()


def test_recordings_that_wait_are_not_heard_any_more(
    chattts_tiny: Path, hears: Callable[[Callable[[], None]], None]
) -> None:
    begun, dropped = threading.Event(), threading.Event()
    heard: list[None] = []

    def hear() -> None:
        heard.append(None)
        begun.set()
        assert dropped.wait(60)

    hears(hear)
    bench = Bench.load(chattts_tiny, Profile.STANDARD)
    first, second = (bench.prepare("hello", heard_as(name)) for name in ("anna", "bert"))
    waits: Future[object] = second.payload.speaker  # type: ignore[attr-defined]
    # The first is let go once the second was dropped; without that it would be heard.
    waits.add_done_callback(lambda _: dropped.set())
    assert begun.wait(60)
    try:
        bench.engine.close()
        assert waits.cancelled()
        assert first.payload.speaker.done()  # type: ignore[attr-defined]
        assert len(heard) == 1
    finally:
        dropped.set()
