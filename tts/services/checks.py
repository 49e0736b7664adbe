"""Listening to a registered version, and keeping what was heard with it."""

from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from models_registry.errors import RegistryError
from models_registry.selectors import VersionSpec, version_spec_sync, version_verdicts
from models_registry.services import CheckedProfile, version_checks_set
from models_registry.states import Verdict
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


def check_if_due(key: str, told: Told) -> None:
    """Listen to a version that nobody has listened to, where the recogniser is installed.

    Takes minutes, of which `told` gets lines; nothing is raised where it fails, that is told.
    """
    if not _needs_listening(key) or missing_module() is not None:
        return
    told(f"Listening to {key}, once, which takes some minutes.")
    try:
        found = version_check(key, told=told)
    except ModelCheckFailed as error:
        told(f"{key} could not be listened to: {error}")
        return
    # Imported here: a process that imports something else needs none of it.
    from tts.checking import report

    for line in report.lines(key, found):
        told(line)


def unverified_mark(key: str) -> None:
    """Keep a version that nobody has listened to from its fastest numbers; safe to call again."""
    if not _needs_listening(key):
        return
    from tts.checking.verdict import unverified

    version_checks_set(key, unverified(), sentences=0, at=timezone.now())


def unverified_line(key: str) -> str:
    """What to say of a version that nobody has listened to; "" where somebody has.

    Nothing either of random weights: there is nothing to hear in them.
    """
    if not _needs_listening(key):
        return ""
    first = f"; before that, {INSTALL}" if missing_module() is not None else ""
    return (
        f"{key} is unverified: nobody has listened to its profiles, so realtime computes in the"
        " numbers of standard and not in int8, which is faster."
        f" Have a recogniser listen (some minutes) with: manage.py model_check {key}{first}"
    )


def _check_recogniser() -> None:
    name = missing_module()
    if name is not None:
        raise ModelCheckFailed(
            f"listening needs the recogniser, and the Python package {name} is not installed."
            f" Install it with: {INSTALL}"
        )


def _needs_listening(key: str) -> bool:
    from tts.engines.chattts.manifest import is_random

    if any(verdict is not Verdict.UNVERIFIED for verdict in version_verdicts(key).values()):
        return False
    return not is_random(version_spec_sync(key).manifest.source)


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
