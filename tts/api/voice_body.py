"""What a voice is ordered by: a JSON object, or a form with a recording."""

from typing import Any

from django.http import HttpRequest
from pydantic import ValidationError

from tts.api.body import body_problem, form_fields, json_object
from tts.api.schemas import VoiceCreate
from tts.errors import RecordingTooBig
from tts.services.voice_material import MAX_RECORDING_BYTES
from tts.speech.errors import InvalidParameter, MissingParameter, UnsupportedMedia

JSON = "application/json"
FORM = "multipart/form-data"
RECORDING = "recording"


def voice_body(request: HttpRequest) -> tuple[VoiceCreate, bytes | None]:
    """What is asked for, and the file of a form; raises SpeechError naming the field."""
    if request.content_type not in (JSON, FORM):
        raise UnsupportedMedia(
            f"Send the body as Content-Type: {JSON}, or {FORM} with a recording."
        )
    try:
        if request.content_type == FORM:
            return _form(request)
        values = json_object(request) or {}
        if RECORDING in values:
            raise InvalidParameter(
                f"Send the {RECORDING} as a file, in a body of Content-Type {FORM}.",
                param=RECORDING,
            )
        return VoiceCreate.model_validate(values, strict=True), None
    except ValidationError as error:
        raise body_problem(error, VoiceCreate) from None


def voice_body_schema() -> dict[str, Any]:
    """The OpenAPI description of the body."""
    return {
        "required": True,
        "content": {
            JSON: {"schema": VoiceCreate.model_json_schema()},
            FORM: {"schema": _form_schema()},
        },
    }


def _form(request: HttpRequest) -> tuple[VoiceCreate, bytes]:
    fields, files = form_fields(request)
    file = files.get(RECORDING)
    if file is None:
        raise MissingParameter(RECORDING)
    if (file.size or 0) > MAX_RECORDING_BYTES:
        raise RecordingTooBig(MAX_RECORDING_BYTES)
    # A file under another name is as unknown as a field.
    values: dict[str, Any] = {name: "" for name in files if name != RECORDING}
    values |= {name: fields[name] for name in fields}
    if "languages" in values:
        values["languages"] = fields.getlist("languages")
    return VoiceCreate.model_validate_strings(values), file.read()


def _form_schema() -> dict[str, Any]:
    """The JSON's fields but for what a recording takes the place of, and the recording."""
    schema = VoiceCreate.model_json_schema()
    fields = schema["properties"]
    for other in ("seed", "embedding", "sample"):
        del fields[other]
    fields[RECORDING] = {
        "type": "string",
        "format": "binary",
        "description": "An audio file of 2 to 8 seconds in which one person speaks.",
    }
    return schema | {
        "title": "VoiceRecording",
        "description": "A voice to be made from a recording.",
        "required": ["name", RECORDING, "transcript", "consent"],
    }
