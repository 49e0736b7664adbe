"""Errors of voices, as the API says them, and of imports, which only operators see.

SpeechError (`tts.speech.errors`)
└── VoiceError
    ├── VoiceNotFound   the caller has no voice of that name for this model (404)
    ├── VoiceMixInvalid a mix that cannot be read or spoken, and where (400)
    ├── VoiceInvalid    a voice that cannot be stored as asked (400)
    ├── VoiceTaken      the tenant has a voice of that name already (409)
    ├── VoiceLimit      the tenant has as many voices as it may (409)
    ├── RecordingTooBig a recording is a larger file than is taken (413)
    └── VoicesNotTaken  none of the caller's models speaks with own voices (403)
ModelImportFailed       a model that cannot be imported, and why
ModelCheckFailed        a version that cannot be listened to, and why
"""

from collections.abc import Sequence

from coordination.clipping import clipped
from tts.speech.errors import SpeechError


class VoiceError(SpeechError):
    """Base of all errors of voices."""


class VoiceNotFound(VoiceError):
    """The caller has no voice of that name for this model; `available` names some it has."""

    status = 404
    kind = "not_found_error"
    code = "voice_not_found"

    def __init__(
        self, name: str, available: Sequence[str] = (), *, among: str = "for this model"
    ) -> None:
        able = f"; available: {', '.join(available)}" if available else ""
        super().__init__(f"voice {clipped(name)} does not exist {among}{able}", param="voice")
        self.available = tuple(available)


class VoiceMixInvalid(VoiceError):
    """A mix that cannot be read; `position` counts characters from 0."""

    code = "voice_mix_invalid"

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(
            f"voice mix, at position {position}: {problem}; "
            "a mix is written like af_heart(2)+zf_xiaoxiao(1)",
            param="voice",
        )
        self.position = position


class VoiceInvalid(VoiceError):
    """A voice that cannot be stored as asked."""

    code = "voice_invalid"


class VoiceTaken(VoiceError):
    """The tenant has a voice of that name already."""

    status = 409
    code = "voice_exists"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"a voice named {name[:64]!r} exists already; delete it first, or choose another name",
            param="name",
        )


class VoiceLimit(VoiceError):
    """The tenant has as many voices as it may."""

    status = 409
    code = "voice_limit"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"a tenant has at most {limit:,} voices of its own, in use or not; delete one first"
        )


class RecordingTooBig(VoiceError):
    """A recording is a larger file than is taken; `limit` is in bytes."""

    status = 413
    code = "recording_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"recording: the file is larger than {limit:,} bytes", param="recording")


class VoicesNotTaken(VoiceError):
    """None of the caller's models speaks with own voices."""

    status = 403
    kind = "permission_error"
    code = "own_voices_unavailable"

    def __init__(self) -> None:
        super().__init__(
            "none of the models that this key may use speaks with own voices; those of ChatTTS do"
        )


class ModelImportFailed(Exception):
    """A model cannot be imported; the message says what is missing or wrong."""


class ModelCheckFailed(Exception):
    """A version cannot be listened to; the message says why."""
