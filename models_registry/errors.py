"""Errors of the registry.

RegistryError
├── ManifestInvalid        a manifest does not describe a version (where, what is allowed)
├── ModelInvalid           a model or version cannot be registered as asked
├── ModelNotFound          no model of that name
├── VersionNotFound        no version of that key
├── VersionUnreadable      a version cannot speak, since its manifest cannot be read (503)
├── ShardMemoryExceeded    there is no room for a version's shards (503)
├── VersionStateConflict   a state change that is not allowed, or came too late
├── BatchingInvalid        batching settings out of range
├── RouteInvalid           a route cannot be created or changed as asked
├── RouteSplitInvalid      weights that cannot be set
├── RouteConflict          another change came first
├── RouteNotFound          no route of that name for this caller (404)
└── ShardStoreError        the store of shards cannot do what was asked
    ├── ShardMissing            it has no such object
    ├── ShardDamaged            bytes have another sha256 than they should
    ├── ShardStoreFull          no room for an object
    └── ShardStoreUnavailable   it does not answer, or must not be used
"""

from collections.abc import Collection, Iterable

from coordination.clipping import clipped


class RegistryError(Exception):
    """Base of all registry errors.

    `status`, `code` and `param` are those of an API answer (facts of the OpenAI
    error envelope); `retry_after` is in seconds where waiting may help.
    """

    status = 400
    code = "invalid_value"

    def __init__(
        self, message: str, *, param: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after


class ManifestInvalid(RegistryError):
    """A manifest does not describe a version."""

    code = "manifest_invalid"


class ModelInvalid(RegistryError):
    """A model or version cannot be registered as asked."""


class ModelNotFound(RegistryError):
    """No model of that name is registered."""

    status = 404
    code = "model_not_found"


class VersionNotFound(RegistryError):
    """No version of that key is registered."""

    status = 404
    code = "version_not_found"


class VersionUnreadable(RegistryError):
    """A version cannot speak, since its manifest cannot be read; operators see why."""

    status = 503
    code = "version_unavailable"

    def __init__(self, key: str) -> None:
        super().__init__(f"version {key} is not available now", retry_after=30.0)


class ShardMemoryExceeded(RegistryError):
    """There is no room for a version's shards: all else is in use, or it never fits."""

    status = 503
    code = "version_unavailable"


class VersionStateConflict(RegistryError):
    """A change of state that is not allowed, or that another change made impossible."""

    status = 409
    code = "version_state_conflict"


class BatchingInvalid(RegistryError):
    """Batching settings are out of range."""


class RouteInvalid(RegistryError):
    """A route cannot be created or changed as asked."""


class RouteSplitInvalid(RegistryError):
    """Weights that cannot be set; `problems` has one sentence for each."""

    code = "route_split_invalid"

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(self.problems), param="weights")


class RouteConflict(RegistryError):
    """Somebody else changed the route since it was read."""

    status = 409
    code = "route_conflict"


class RouteNotFound(RegistryError):
    """No route of that name for this caller; `available` are those it may use."""

    status = 404
    code = "model_not_found"

    def __init__(self, name: str, available: Collection[str] = ()) -> None:
        self.available = tuple(sorted(available))
        known = f"available: {', '.join(self.available)}" if self.available else "none is available"
        super().__init__(f"model {clipped(name)} does not exist; {known}", param="model")


class ShardStoreError(RegistryError):
    """The store of shards cannot do what was asked; only operators see why."""

    status = 503
    code = "shard_store_error"


class ShardMissing(ShardStoreError):
    """The store has no such object."""


class ShardDamaged(ShardStoreError):
    """Bytes have another sha256 than they should."""


class ShardStoreFull(ShardStoreError):
    """There is no room for an object; nothing is left of it."""


class ShardStoreUnavailable(ShardStoreError):
    """The store does not answer, or must not be used."""
