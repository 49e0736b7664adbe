"""Writing of voices, and the import of models. Everything bumps the configuration epoch."""

from tts.services.chattts_imports import chattts_import, chattts_speak
from tts.services.checks import check_if_due, unverified_line, version_check
from tts.services.imports import (
    kokoro_import,
    model_import_bundled,
    tone_import,
)
from tts.services.registering import ImportedVersion
from tts.services.voices import (
    VoiceDraft,
    voice_check,
    voice_create,
    voice_deactivate,
    voice_draft,
    voice_erase,
    voice_update,
    voices_sync,
)

__all__ = [
    "ImportedVersion",
    "VoiceDraft",
    "chattts_import",
    "chattts_speak",
    "check_if_due",
    "kokoro_import",
    "model_import_bundled",
    "tone_import",
    "unverified_line",
    "version_check",
    "voice_check",
    "voice_create",
    "voice_deactivate",
    "voice_draft",
    "voice_erase",
    "voice_update",
    "voices_sync",
]
