"""Bodies of the JSON endpoints, read as strictly as those of speech."""

from typing import Any

import pydantic_core
from django.core.exceptions import SuspiciousMultipartForm
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser

from tts.speech.errors import InvalidBody, UnsupportedMedia
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
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMedia("Send the body without a Content-Encoding.")
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
    """The fields and files of a form; raises InvalidBody."""
    try:
        return request.POST, request.FILES
    except (MultiPartParserError, SuspiciousMultipartForm) as error:
        raise InvalidBody(f"The form cannot be read: {error}.") from error
