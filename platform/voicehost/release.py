"""Which release of Voicehost this is."""

from importlib.metadata import PackageNotFoundError, version

UNKNOWN = "0"


def release() -> str:
    """The package's version; "0" where the code runs without being installed."""
    try:
        return version("voicehost")
    except PackageNotFoundError:
        return UNKNOWN
