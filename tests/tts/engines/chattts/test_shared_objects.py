"""What versions share is named after all that went into it."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.tts.engines.chattts.speaking import CPU, Bench, voice_of
from tests.tts.engines.chattts.test_chattts_engine import recording
from tts.engine.request import Profile
from tts.engines.chattts.engine import ChatTtsEngine
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.chattts.voice import Recording, material_pack
from tts.engines.shards import LocalShards

T = TypeVar("T")


class Watched(LocalShards):
    """Shards that note, for each shared object, those that it is named after and those it read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(chattts_manifest(folder).shards)
        self.named: dict[str, set[str]] = {}
        self.used: dict[str, set[str]] = {}
        self._building: list[str] = []

    def read(self, name: str) -> memoryview:
        if self._building:
            self.used[self._building[-1]].add(name)
        return super().read(name)

    def resident(
        self,
        names: str | tuple[str, ...],
        transform: str,
        build: Callable[[], T],
        measure: Callable[[T], int] | None = None,
    ) -> T:
        self.named[transform] = {names} if isinstance(names, str) else set(names)
        self.used.setdefault(transform, set())

        def noted() -> T:
            self._building.append(transform)
            try:
                return build()
            finally:
                self._building.pop()

        return super().resident(names, transform, noted, measure)


@pytest.mark.parametrize("profile", list(Profile))
def test_objects_are_named_after_every_shard_in_them(chattts_tiny: Path, profile: Profile) -> None:
    shards = Watched(chattts_tiny)
    engine = ChatTtsEngine()
    engine.load(shards, CPU, profile, lambda: None)
    voice = voice_of(material_pack(Recording(recording(), "good morning")))
    Bench(engine, profile).prepare("hello", voice).payload.speaker.result(60)  # type: ignore[attr-defined]
    engine.close()
    assert set().union(*shards.used.values()) >= {"embed", "decoder", "vocos", "dvae", "tokenizer"}
    for transform, used in shards.used.items():
        # The configuration was read before; all but the vocabulary are built by it.
        configured = set() if "vocabulary" in transform else {"config"}
        assert shards.named[transform] == used | configured, transform
