"""What a client asks for, validated: the same parameters for every transport."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from tts.audio.format import DEFAULT_RATE, AudioFormat
from tts.speech.errors import InvalidBody, InvalidParameter, MissingParameter, SpeechError
from tts.speech.nulls import NullIsAbsent
from tts.speech.surrogates import surrogate_find

DEFAULT_SPEED = 1.0
MAX_NAME = 200
MAX_INSTRUCTIONS = 4096
MAX_SEED = 2**32 - 1
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# How Pydantic's sentences begin.
_SUBJECT = re.compile(r"^(?:Input|String) should")


class StreamFormat(StrEnum):
    """How audio travels in a response: as it is, or as server-sent events."""

    AUDIO = "audio"
    SSE = "sse"


@dataclass(frozen=True, slots=True)
class SpeechOrder:
    """The validated parameters of one request.

    `sample_rate` is in Hz; None means 24,000. `language` is None when the text
    itself tells. `quality_tier` None means the key's own choice.
    """

    model: str
    voice: str
    input: str = ""
    format: AudioFormat = AudioFormat.MP3
    stream_format: StreamFormat = StreamFormat.AUDIO
    speed: float = DEFAULT_SPEED
    language: str | None = None
    seed: int | None = None
    sample_rate: int | None = None
    quality_tier: str | None = None
    instructions: str = ""

    @property
    def output_rate(self) -> int:
        """The sample rate of the audio that is sent, in Hz."""
        return self.sample_rate or DEFAULT_RATE


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]


class VoiceReference(BaseModel):
    """A voice by its id."""

    model_config = ConfigDict(strict=True)

    id: Name = Field(description="The voice's id.", examples=["af_heart"])


class SpeechParameters(NullIsAbsent):
    """The parameters but for the text; `null` is the same as absent, unknown ones are ignored."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, extra="ignore")

    model: Name = Field(description="The model's name.", examples=["kokoro"])
    voice: Name | VoiceReference = Field(
        description="The voice's id, or an object that holds it.", examples=["af_heart"]
    )
    instructions: str | None = Field(
        None, max_length=MAX_INSTRUCTIONS, description="How to speak, for models that can follow."
    )
    response_format: Literal["mp3", "opus", "aac", "flac", "wav", "pcm"] = Field(
        "mp3", description="The audio format. pcm is mono s16le without a header."
    )
    speed: float = Field(
        DEFAULT_SPEED, ge=0.25, le=4.0, description="Tempo; the pitch stays as it is."
    )
    language: Literal["zh", "en"] | None = Field(
        None, description="The language of the text; found out from the text when absent."
    )
    seed: Annotated[StrictInt, Field(ge=0, le=MAX_SEED)] | None = Field(
        None, description="The same seed and text give the same audio."
    )
    sample_rate: StrictInt | None = Field(
        None,
        description="The audio's sample rate in Hz, one that the format takes; 24000 when absent.",
    )
    quality_tier: Name | None = Field(
        None,
        description="realtime, standard or hq, up to what the key allows.",
        examples=["realtime"],
    )


class SpeechBody(SpeechParameters):
    """The body of `POST /v1/audio/speech`."""

    input: str = Field(
        description="The text to speak; the tier limits its length.",
        examples=["Hello there, 你好。"],
    )
    stream_format: Literal["audio", "sse"] = Field(
        "audio", description="sse sends server-sent events with base64 audio."
    )
    stream: bool | None = Field(
        None, description="Accepted for compatibility; audio is always sent as it is made."
    )


def order_from_json(body: bytes) -> SpeechOrder:
    """The order in a JSON body.

    Raises InvalidBody, InvalidUnicode, MissingParameter, InvalidParameter, and
    UnsupportedSampleRate.
    """
    try:
        return _order(SpeechBody.model_validate_json(body.removeprefix(BYTE_ORDER_MARK)))
    except ValidationError as error:
        raise _first_problem(error, body) from None


def order_from_mapping(values: Mapping[str, Any]) -> SpeechOrder:
    """The order in `values`, without a text; raises as `order_from_json` does."""
    try:
        return _order(SpeechParameters.model_validate(values))
    except ValidationError as error:
        raise _first_problem(error) from None


def _order(body: SpeechParameters) -> SpeechOrder:
    audio_format = AudioFormat(body.response_format)
    if body.sample_rate is not None:
        audio_format.check_rate(body.sample_rate)
    return SpeechOrder(
        model=body.model,
        voice=body.voice if isinstance(body.voice, str) else body.voice.id,
        input=body.input if isinstance(body, SpeechBody) else "",
        format=audio_format,
        stream_format=StreamFormat(
            body.stream_format if isinstance(body, SpeechBody) else StreamFormat.AUDIO
        ),
        speed=body.speed,
        language=body.language,
        seed=body.seed,
        sample_rate=body.sample_rate,
        quality_tier=body.quality_tier,
        instructions=body.instructions or "",
    )


def _first_problem(error: ValidationError, body: bytes = b"") -> SpeechError:
    """The first thing that is wrong, in words for the client."""
    first = error.errors(include_url=False, include_context=False)[0]
    if not first["loc"]:
        message = _body_message(first["type"], first["msg"])
        return surrogate_find(body) or InvalidBody(message)
    param = str(first["loc"][0])
    if first["type"] == "missing" and len(first["loc"]) == 1:
        return MissingParameter(param)
    if param == "voice":
        return InvalidParameter(
            f"Invalid value for 'voice': give a string of 1 to {MAX_NAME} characters, "
            'or {"id": such a string}.',
            param=param,
        )
    message = _SUBJECT.sub("it should", first["msg"], count=1)
    return InvalidParameter(f"Invalid value for {param!r}: {message}.", param=param)


def _body_message(kind: str, message: str) -> str:
    if kind == "json_invalid":
        return f"The body is not valid JSON in UTF-8: {message.removeprefix('Invalid JSON: ')}."
    return "The body must be a JSON object."
