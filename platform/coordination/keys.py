"""Every Redis key of the platform, once. All begin with `vh:`."""

CONFIG_EPOCH = "vh:epoch"
WORKERS = "vh:workers"
GATEWAYS = "vh:gateways"


def worker_beat(worker_id: str) -> str:
    """The heartbeat of a synthesis worker (a string that expires)."""
    return f"vh:worker:{worker_id}:beat"


def worker_requests(worker_id: str) -> str:
    """The request stream of a synthesis worker."""
    return f"vh:worker:{worker_id}:requests"


def gateway_replies(gateway_id: str) -> str:
    """The reply stream of a web (or Celery) process."""
    return f"vh:gateway:{gateway_id}:replies"


def gateway_beat(gateway_id: str) -> str:
    """The heartbeat of a web (or Celery) process (a string that expires)."""
    return f"vh:gateway:{gateway_id}:beat"


def route_lease(version: str) -> str:
    """The leases of a version: a sorted set of request ids by expiry."""
    return f"vh:lease:{version}"


def limit(scope: str, subject: str, name: str) -> str:
    """A limiter's state: scope "tenant" or "key", its id, and the limit's name."""
    return f"vh:limit:{scope}:{subject}:{name}"


def limit_taken(taking: str) -> str:
    """That a limiter's taking was carried out (a string that expires); `taking` is its id."""
    return f"vh:limit:taken:{taking}"


HOLDS = (route_lease("*"), limit("*", "*", "*leases"))
"""Patterns of the sorted sets whose members are holds (see `coordination.holds`)."""
