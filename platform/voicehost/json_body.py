"""Bodies of the JSON endpoints, read as strictly as those of speech."""

from typing import Any

import pydantic_core
from django.http import HttpRequest
from ninja.parser import Parser

from tts.speech.errors import InvalidBody, UnsupportedMedia
from tts.speech.order import BYTE_ORDER_MARK
from tts.speech.surrogates import surrogate_find


class JsonBody(Parser):
    """Takes one JSON object in UTF-8, or `null` where a body is optional.

    Python's own reader takes UTF-16 and NaN as well.
    """

    def parse_body(self, request: HttpRequest) -> Any:
        """The object.

        Raises UnsupportedMedia, InvalidBody and InvalidUnicode (Ninja wraps them in HttpError).
        """
        if request.content_type != "application/json":
            raise UnsupportedMedia("Send the body as Content-Type: application/json.")
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise UnsupportedMedia("Send the body without a Content-Encoding.")
        try:
            value = pydantic_core.from_json(
                request.body.removeprefix(BYTE_ORDER_MARK), allow_inf_nan=False
            )
        except ValueError as error:
            problem = InvalidBody(f"The body is not valid JSON in UTF-8: {error}.")
            raise surrogate_find(request.body) or problem from error
        if value is not None and not isinstance(value, dict):
            raise InvalidBody("The body must be a JSON object.")
        return value
