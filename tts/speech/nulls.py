"""Bodies in which `null` says nothing."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, model_validator


class NullIsAbsent(BaseModel):
    """A body whose fields of value `null` are the same as absent."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            return {name: value for name, value in data.items() if value is not None}
        return data
