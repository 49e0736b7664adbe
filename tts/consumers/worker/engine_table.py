"""Which engines of a worker are there, on their way, or away for want of memory."""

from collections.abc import Collection, Mapping

from tts.consumers.worker.loading import EngineKey, Version


class EngineTable:
    """Engines by version and profile; `removing` are versions whose engines are being closed."""

    def __init__(self) -> None:
        self.loaded: dict[EngineKey, Version] = {}
        self.loading: set[EngineKey] = set()
        self.cold: set[EngineKey] = set()
        self.removing: set[str] = set()

    @property
    def ready_versions(self) -> tuple[str, ...]:
        """Versions that can be spoken now."""
        return tuple(sorted({version for version, _ in self.loaded}))

    @property
    def loading_versions(self) -> tuple[str, ...]:
        """Versions of which the first engine is being loaded."""
        return tuple(sorted({version for version, _ in self.loading} - set(self.ready_versions)))

    def cold_versions(self, known: Collection[str]) -> tuple[str, ...]:
        """Versions among those known of which no engine is in memory, for want of it."""
        there = {version for version, _ in (*self.loaded, *self.loading)}
        return tuple(sorted({version for version, _ in self.cold if version in known} - there))

    def leaving(self, versions: Mapping[str, Version]) -> set[str]:
        """Those that are loaded without having weight, or in numbers that are others now."""
        return {
            key
            for (key, _), loaded in self.loaded.items()
            if (version := versions.get(key)) is None or version.numbers != loaded.numbers
        }

    def has(self, key: EngineKey) -> bool:
        """Whether an engine need not be loaded: it is there, or under way, or to go first."""
        return key in self.loaded or key in self.loading or key[0] in self.removing

    def remove(self, version: str) -> None:
        """All engines of a version are being closed."""
        self.loaded = {key: found for key, found in self.loaded.items() if key[0] != version}
        self.removing.add(version)

    def keep(self, versions: Collection[str]) -> None:
        """Nothing of other versions is cold: nobody will ask for it."""
        self.cold = {key for key in self.cold if key[0] in versions}
