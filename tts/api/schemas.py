"""What the API answers, beside audio."""

from typing import Literal

from ninja import Schema
from pydantic import ConfigDict, Field, StrictInt

from tts.engines.chattts.voice import MAX_TRANSCRIPT
from tts.models import GAIN_LIMIT_DB, VoiceOrigin
from tts.services.voice_material import MAX_SEED
from tts.speech.nulls import NullIsAbsent


class ErrorDetail(Schema):
    """What went wrong, in OpenAI's form."""

    message: str = Field(examples=["The text is empty: send at least one letter or digit."])
    type: str = Field(examples=["invalid_request_error"])
    param: str | None = Field(examples=["input"])
    code: str | None = Field(examples=["missing_required_parameter"])


class ErrorEnvelope(Schema):
    """The body of every error."""

    error: ErrorDetail


class ModelObject(Schema):
    """A model, as OpenAI lists it; `created` is a Unix timestamp."""

    id: str = Field(examples=["kokoro"])
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "voicehost"


class ModelList(Schema):
    """All models."""

    object: Literal["list"] = "list"
    data: list[ModelObject]


class AudioModel(Schema):
    """A speech model, as Open WebUI reads it."""

    id: str
    name: str


class AudioModelList(Schema):
    """All speech models."""

    models: list[AudioModel]


class VoiceObject(Schema):
    """A voice. `language` is its first; `is_public` is False for a tenant's own voice.

    `created` is a Unix timestamp.
    """

    id: str = Field(examples=["af_heart"])
    name: str = Field(examples=["Heart (American English)"])
    object: Literal["voice"] = "voice"
    language: str = Field(examples=["en"])
    languages: list[str]
    companion: str | None = Field(
        description="The voice that speaks the languages which this one does not."
    )
    aliases: list[str]
    preview_text: str | None = Field(
        description="What a preview of the voice says; null where nobody wrote one."
    )
    preview_url: None = Field(
        default=None, description="Always null: no preview is recorded; clients expect the field."
    )
    is_public: bool
    origin: VoiceOrigin = Field(description="What it was made from.")
    created: int


class VoiceQuery(Schema):
    """Which voices, and how."""

    model: str | None = Field(default=None, description="Only the voices of this model.")
    legacy: bool = Field(default=False, description="List plain strings instead of objects.")


class VoiceList(Schema):
    """All voices; `voices` and `data` are the same, since clients read one or the other."""

    object: Literal["list"] = "list"
    voices: list[VoiceObject]
    data: list[VoiceObject]


class VoiceNames(Schema):
    """The voices as plain strings, for clients that expect those."""

    voices: list[str]


class VoiceCreate(NullIsAbsent):
    """A voice to be made, from exactly one of `seed`, `embedding` and `sample`.

    A `recording` comes as a file in a form instead. `null` is the same as absent.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str = Field(
        examples=["anna"],
        description="What requests call it: 1 to 64 Latin letters, digits, '_', '.' and '-',"
        " beginning with a letter or digit.",
    )
    languages: list[Literal["zh", "en"]] = Field(
        default=["zh", "en"], min_length=1, max_length=8, description="What it speaks."
    )
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED, description="A random speaker.")
    embedding: str | None = Field(default=None, description="ChatTTS' `spk_emb`.")
    sample: str | None = Field(default=None, description="ChatTTS' `spk_smp`, of 2 to 8 seconds.")
    transcript: str = Field(
        default="",
        max_length=MAX_TRANSCRIPT,
        description="The words that are spoken in the sample or recording.",
    )
    consent: str = Field(
        default="",
        max_length=2_000,
        description="Who agreed to the use of their voice, when and how. "
        "Samples and recordings need it.",
    )
    display_name: str = Field(default="", max_length=100, description="The name for people.")
    gain_db: float = Field(
        default=0.0,
        ge=-GAIN_LIMIT_DB,
        le=GAIN_LIMIT_DB,
        description="Fixed loudness correction in decibels.",
    )
    preview_text: str = Field(
        default="", max_length=1_000, description="What a preview of the voice says."
    )


class VoiceDeleted(Schema):
    """A voice that is no more."""

    id: str
    object: Literal["voice.deleted"] = "voice.deleted"
    deleted: bool = True


class TokenRequest(Schema):
    """What a token may be used for, and for how long."""

    model_config = ConfigDict(extra="forbid")

    ttl_seconds: StrictInt = Field(default=60, description="Whole seconds, 5 to 600.")
    scopes: list[str] = Field(default=["speech"], description="Scopes of the key to pass on.")


class TokenObject(Schema):
    """A short-lived token; `expires_at` is a Unix timestamp."""

    object: Literal["token"] = "token"
    token: str
    expires_at: int
    scopes: list[str]
