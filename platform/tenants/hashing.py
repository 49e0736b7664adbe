"""The form of API keys, and keys derived from the installation's SECRET_KEY.

A key reads `vh_<prefix>_<secret>`: the prefix (8 letters and digits) is shown
in lists and logs, the secret is 256 random bits in URL-safe base64. The
database holds an HMAC-SHA256 of the whole, so neither a copy of the database
nor a guess without SECRET_KEY gives a key. A change of SECRET_KEY ends all keys.
"""

import hashlib
import hmac
import re
import secrets
import string
from typing import NamedTuple

from django.conf import settings

from tenants.errors import KeyMalformed, KeyMissing

MARK = "vh_"
"""What every key begins with."""
PREFIX_LENGTH = len(MARK) + 8
_ALPHABET = string.ascii_lowercase + string.digits
_FORM = re.compile(rf"{MARK}[a-z0-9]{{8}}_[A-Za-z0-9_-]{{43}}", re.ASCII)


class NewSecret(NamedTuple):
    """A fresh key: what is shown once, and what is kept."""

    text: str
    prefix: str
    digest: str


def key_derive(purpose: str) -> bytes:
    """32 bytes for one purpose, so that no two uses of SECRET_KEY share a key."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"voicehost:{purpose}".encode(), "sha256")


def secret_new() -> NewSecret:
    """Make a key from the system's randomness."""
    prefix = MARK + "".join(secrets.choice(_ALPHABET) for _ in range(8))
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    return NewSecret(text=text, prefix=prefix, digest=_digest(text))


def secret_digest(text: str | None) -> str:
    """The digest (64 hex digits) of a key as sent; raises KeyMissing or KeyMalformed."""
    if text is None or not text.strip():
        raise KeyMissing
    if _FORM.fullmatch(text) is None:
        raise KeyMalformed
    return _digest(text)


def _digest(text: str) -> str:
    return hmac.new(key_derive("api-key"), text.encode(), hashlib.sha256).hexdigest()
