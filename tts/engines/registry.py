"""Engines by name: one table, each imported only when it is used."""

from importlib import import_module

from tts.engine.errors import VersionUnavailable
from tts.engines.base import SpeechEngine

ENGINES: dict[str, str] = {
    "tone": "tts.engines.tone.engine:ToneEngine",
    "kokoro": "tts.engines.kokoro.engine:KokoroEngine",
    "chattts": "tts.engines.chattts.engine:ChatTtsEngine",
}


def engine_create(name: str) -> SpeechEngine:
    """A new engine, not loaded yet; raises VersionUnavailable for an unknown name.

    It is also raised where what the engine needs is not installed on this machine.
    """
    path = ENGINES.get(name)
    if path is None:
        known = ", ".join(sorted(ENGINES))
        raise VersionUnavailable(f"there is no engine named {name!r}; there are: {known}")
    module, _, attribute = path.partition(":")
    try:
        engine: SpeechEngine = getattr(import_module(module), attribute)()
    except ImportError as error:
        raise VersionUnavailable(
            f"engine {name!r} needs what is not installed here: {error.name}"
        ) from error
    return engine
