"""Errors of tenancy, each with what an HTTP response and a WebSocket error need.

TenantError
├── AuthenticationError       401, one public code for all of them
│   ├── KeyMissing            no key was sent
│   ├── KeyMalformed          it does not have the form of a key
│   ├── KeyUnknown            no such key
│   ├── KeyRevoked            the key was revoked
│   ├── KeyExpired            the key has expired
│   ├── TenantInactive        the key's tenant is deactivated
│   └── TokenInvalid          a short-lived token that is forged, expired or not one
├── PermissionDenied          403
│   ├── TierNotAllowed        the tier ranks above the key's
│   ├── ModelNotAllowed       the tier does not include the model
│   └── ScopeMissing          the key lacks a scope
├── InvalidRequest            400
│   ├── UnknownTier           no tier of that name
│   ├── TextTooLong           longer than the tier's longest text
│   └── InvalidValue          a value that a service was given
├── NotFound                  404, a tenant, tier or key named to a service or command
├── LimitExceeded             429, waiting helps
├── BudgetTooSmall            429, waiting does not help
└── LimiterUnavailable        503, the limits or the configuration cannot be read now
"""

from collections.abc import Iterable, Mapping, Sequence

from django.core.exceptions import ValidationError

from coordination.clipping import clipped


class TenantError(Exception):
    """Base: `status`, `type` and `code` as in the API's error envelope.

    `param` names the request field at fault, `retry_after` is in seconds, and
    `should_retry` tells clients whether to repeat the request (None: their choice).
    """

    status = 500
    type = "server_error"
    code = "internal_error"
    should_retry: bool | None = None

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        retry_after: float | None = None,
        rate_headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.rate_headers = dict(rate_headers or {})


class AuthenticationError(TenantError):
    """The caller is not known; messages say nothing about anyone else's keys."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"
    text = "The API key is not valid."

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.text)


class KeyMissing(AuthenticationError):
    """No key was sent."""

    text = "No API key was sent: send it in the header 'Authorization: Bearer vh_…'."


class KeyMalformed(AuthenticationError):
    """What was sent does not have the form of a key."""

    text = "This is not an API key: a key begins with 'vh_' and is sent whole, without quotes."


class KeyUnknown(AuthenticationError):
    """No key has this secret."""

    text = "This API key does not exist."


class KeyRevoked(AuthenticationError):
    """The key was revoked."""

    text = "This API key has been revoked."


class KeyExpired(AuthenticationError):
    """The key's time is over."""

    text = "This API key has expired."


class TenantInactive(AuthenticationError):
    """The tenant of the key is deactivated."""

    text = "The account of this API key is deactivated."


class TokenInvalid(AuthenticationError):
    """A short-lived token that is forged, expired, or not a token."""

    text = "The token is not valid or has expired: issue a new one."


class PermissionDenied(TenantError):
    """The caller is known and may not do this."""

    status = 403
    type = "permission_error"
    code = "permission_denied"


class TierNotAllowed(PermissionDenied):
    """The tier ranks above the key's own."""

    code = "tier_not_allowed"

    def __init__(self, requested: str, allowed: Iterable[str]) -> None:
        super().__init__(
            f"This API key may not use the quality tier '{requested}'; "
            f"it may use: {_listed(allowed)}.",
            param="quality_tier",
        )


class ModelNotAllowed(PermissionDenied):
    """The tier does not include the model.

    `allowed` are the models that it does include (none: every public one),
    `tiers` those of the caller that include this one.
    """

    code = "model_not_allowed"

    def __init__(
        self, model: str, tier: str, allowed: Sequence[str], tiers: Sequence[str] = ()
    ) -> None:
        included = f": {_listed(allowed)}" if allowed else " every public model"
        others = f" Tiers of this API key that do: {_listed(tiers)}." if tiers else ""
        super().__init__(
            f"The quality tier '{tier}' does not include the model '{model}'; "
            f"it includes{included}.{others}",
            param="model",
        )


class ScopeMissing(PermissionDenied):
    """The key (or token) lacks a scope."""

    code = "scope_missing"

    def __init__(self, scope: str, held: Iterable[str]) -> None:
        super().__init__(f"This needs the scope '{scope}'; this API key has: {_listed(held)}.")


class InvalidRequest(TenantError):
    """The request cannot be served as it stands."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_value"
    should_retry = False


class UnknownTier(InvalidRequest):
    """There is no tier of that name."""

    code = "unknown_quality_tier"

    def __init__(self, requested: str, allowed: Iterable[str]) -> None:
        super().__init__(
            f"There is no quality tier {clipped(requested)}; "
            f"this API key may use: {_listed(allowed)}.",
            param="quality_tier",
        )


class TextTooLong(InvalidRequest):
    """The text is longer than the tier's longest text."""

    code = "string_above_max_length"

    def __init__(self, characters: int, tier: str, limit: int) -> None:
        super().__init__(
            f"The text has {characters} characters; "
            f"the quality tier '{tier}' takes at most {limit} in one request.",
            param="input",
        )


class InvalidValue(InvalidRequest):
    """A value that a service refuses; `param` is the field."""

    @classmethod
    def from_validation(cls, error: ValidationError) -> "InvalidValue":
        """Django's validation errors as one sentence, fields named."""
        if not hasattr(error, "error_dict"):
            return cls(" ".join(error.messages))
        parts = error.message_dict
        text = "; ".join(
            " ".join(messages) if field == "__all__" else f"{field}: {' '.join(messages)}"
            for field, messages in parts.items()
        )
        return cls(text, param=next((field for field in parts if field != "__all__"), None))


class NotFound(TenantError):
    """A tenant, tier or key that does not exist."""

    status = 404
    type = "not_found_error"
    code = "not_found"


class LimitExceeded(TenantError):
    """A rate or concurrency limit of the caller; waiting `retry_after` seconds helps.

    `limit` is "requests", "characters" or "concurrency"; `scope` says whose it
    is, "key" or "tenant".
    """

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"
    should_retry = True

    def __init__(
        self,
        message: str,
        *,
        limit: str,
        scope: str,
        retry_after: float,
        rate_headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            message,
            param="input" if limit == "characters" else None,
            retry_after=retry_after,
            rate_headers=rate_headers,
        )
        self.limit = limit
        self.scope = scope


class BudgetTooSmall(TenantError):
    """The text alone needs more than a whole minute's budget of characters."""

    status = 429
    type = "insufficient_quota"
    code = "insufficient_quota"
    should_retry = False

    def __init__(self, characters: int, scope: str, limit: int) -> None:
        super().__init__(
            f"The text has {characters} characters and this {_SCOPES[scope]} may speak {limit} "
            "a minute: waiting will not help; send it in smaller requests.",
            param="input",
        )


class LimiterUnavailable(TenantError):
    """Redis did not answer; nothing is let through uncounted."""

    status = 503
    type = "server_error"
    code = "overloaded"
    should_retry = True

    def __init__(self) -> None:
        super().__init__("The service cannot check limits right now.", retry_after=1.0)


_SCOPES = {"key": "API key", "tenant": "account"}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
