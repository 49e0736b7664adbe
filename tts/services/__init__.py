"""Writing of voices. Everything bumps the configuration epoch."""

from tts.services.voices import (
    VoiceDraft,
    voice_create,
    voice_deactivate,
    voice_draft,
    voice_update,
    voices_sync,
)

__all__ = [
    "VoiceDraft",
    "voice_create",
    "voice_deactivate",
    "voice_draft",
    "voice_update",
    "voices_sync",
]
