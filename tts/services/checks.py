"""Listening to a registered version, and keeping what was heard with it."""

from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from models_registry.errors import RegistryError
from models_registry.selectors import VersionSpec, version_spec_sync, version_verdicts
from models_registry.services import CheckedProfile, version_checks_set
from tts.engine.errors import EngineError
from tts.engines.devices import cores
from tts.errors import ModelCheckFailed
from tts.recognition.whisper import (
    INSTALL,
    RecogniserError,
    WhisperTranscriber,
    missing_module,
)

FULL = 20
"""Sentences in each language of a check that counts."""
Told = Callable[[str], None]


def version_check(key: str, *, sentences: int = FULL, told: Told) -> tuple[CheckedProfile, ...]:
    """Listen to every profile of the version "model@version", and keep the verdicts with it.

    Fewer sentences than FULL are a try, of which nothing is kept. `told` gets lines about what
    was heard, as it comes; it takes minutes. Raises ModelCheckFailed, also where the recogniser
    is not installed.
    """
    try:
        spec = version_spec_sync(key)
        _check_recogniser()
        found = _listened(spec, sentences, told)
        if sentences >= FULL:
            version_checks_set(key, found, sentences=sentences, at=timezone.now())
    except (RegistryError, EngineError) as error:
        raise ModelCheckFailed(error.message) from error
    except RecogniserError as error:
        raise ModelCheckFailed(str(error)) from error
    return found


def check_is_due(key: str) -> bool:
    """Whether this is the original release of ChatTTS, which nobody has listened to yet.

    False where the recogniser is not installed. Raises RegistryError.
    """
    from tts.engines.chattts.manifest import is_release

    if version_verdicts(key) or missing_module() is not None:
        return False
    shards = version_spec_sync(key).manifest.shards
    return is_release({shard.name: shard.sha256 for shard in shards})


def unverified_line(key: str) -> str:
    """What to say of a version that nobody has listened to; "" where somebody has."""
    if version_verdicts(key):
        return ""
    first = f"; before that, {INSTALL}" if missing_module() is not None else ""
    return (
        f"{key} is unverified: nobody has listened to its profiles."
        f" Have a recogniser listen (some minutes) with: manage.py model_check {key}{first}"
    )


def _check_recogniser() -> None:
    name = missing_module()
    if name is not None:
        raise ModelCheckFailed(
            f"listening needs the recogniser, and the Python package {name} is not installed."
            f" Install it with: {INSTALL}"
        )


def _listened(spec: VersionSpec, sentences: int, told: Told) -> tuple[CheckedProfile, ...]:
    # Imported here: a web process has no use for what speaks and listens.
    from tts.checking.listening import Heard, NothingToHear, listen
    from tts.checking.report import percent
    from tts.checking.speaking import VersionVoice
    from tts.recognition.recogniser import Recogniser

    def tell(heard: Heard) -> None:
        told(f"{spec.key} {heard.name}: {percent(heard.errors)} not understood")
        if heard.unsaid:
            told(
                f"{spec.key} {heard.name}: {heard.unsaid} sentences were not spoken: {heard.reason}"
            )

    voice = VersionVoice(spec, threads=cores())
    recogniser = Recogniser(WhisperTranscriber(Path(settings.VAR_DIR) / "cache" / "whisper"))
    try:
        return listen(voice, recogniser, sentences, tell)
    except NothingToHear as error:
        raise ModelCheckFailed(f"{spec.key}: {error}") from error
