"""Bodies of the JSON endpoints, read as strictly as those of speech."""

from typing import Any

import pydantic_core
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser
from pydantic import BaseModel, ValidationError

from coordination.clipping import SHOWN_MAX, clipped
from tts.speech.errors import (
    InvalidBody,
    InvalidParameter,
    MissingParameter,
    SpeechError,
    UnsupportedMedia,
)
from tts.speech.order import BYTE_ORDER_MARK
from tts.speech.surrogates import surrogate_find


class JsonBody(Parser):
    """Takes one JSON object in UTF-8, or `null` where a body is optional.

    Python's own reader takes UTF-16 and NaN as well.
    """

    def parse_body(self, request: HttpRequest) -> Any:
        """The object; raises what `json_object` raises (Ninja wraps them in HttpError)."""
        return json_object(request)


def json_object(request: HttpRequest) -> Any:
    """The object, or None for `null`; raises UnsupportedMedia, InvalidBody, InvalidUnicode."""
    if request.content_type != "application/json":
        raise UnsupportedMedia("Send the body as Content-Type: application/json.")
    _check_encoding(request)
    try:
        text = request.body.removeprefix(BYTE_ORDER_MARK)
        value = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        problem = InvalidBody(f"The body is not valid JSON in UTF-8: {error}.")
        raise surrogate_find(request.body) or problem from error
    if value is not None and not isinstance(value, dict):
        raise InvalidBody("The body must be a JSON object.")
    return value


def form_fields(
    request: HttpRequest,
) -> "tuple[QueryDict, MultiValueDict[str, UploadedFile[bytes]]]":
    """The fields and files of a form; raises UnsupportedMedia, InvalidBody, RequestDataTooBig."""
    _check_encoding(request)
    try:
        return request.POST, request.FILES
    except RequestDataTooBig:
        raise
    except (MultiPartParserError, SuspiciousOperation) as error:
        message = str(error).removesuffix(".")
        raise InvalidBody(f"The form cannot be read: {message}.") from error


def body_problem(error: ValidationError, model: type[BaseModel]) -> SpeechError:
    """The first thing that is wrong with a body of the form of `model`, in words for the client."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    param = str(first["loc"][0]) if first["loc"] else None
    if param is not None and first["type"] == "missing":
        return MissingParameter(param)
    if param is not None and first["type"] == "extra_forbidden":
        fields = ", ".join(model.model_fields)
        return InvalidParameter(
            f"There is no field {clipped(param)} here; fields are: {fields}.",
            param=param[:SHOWN_MAX],
        )
    message = str(first["msg"]).replace("Input should", "it should", 1)
    return InvalidParameter(f"Invalid value for {param!r}: {message}.", param=param)


def _check_encoding(request: HttpRequest) -> None:
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMedia("Send the body without a Content-Encoding.")
