"""Which Host headers an installation for one machine answers to.

A web page can let its own name resolve to 127.0.0.1 (DNS rebinding) and then
read whatever answers to that name. It cannot do so with an address, nor with a
name that only the machine's own network resolves.
"""

import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from django.http.request import split_domain_port, validate_host

WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - names of what HOST may be, not an address to bind
LOCAL_NAMES = ("localhost", ".localhost")


def host_answered(address: str, allowed: Sequence[str]) -> str:
    """A Host that ALLOWED_HOSTS of `allowed` let through: the address' own, else a listed one."""
    own = f"[{address}]" if ":" in address else address
    if validate_host(own.lower(), allowed):
        return own
    # ".example.com" stands for the bare name too.
    return next((name.removeprefix(".") for name in allowed), own)


@dataclass(frozen=True, slots=True)
class LocalHosts:
    """Loopback, and `patterns` as in Django's ALLOWED_HOSTS; with `any_address`, every address."""

    patterns: tuple[str, ...]
    any_address: bool = False

    @classmethod
    def of(cls, host: str, allowed: Iterable[str] = ()) -> "LocalHosts":
        """Those of a server that listens on `host`, and `allowed` besides.

        One that listens on every interface is asked for by any address of the
        machine (behind a forwarded port, also by those of other machines), and by
        the machine's name.
        """
        everywhere = host in WILDCARDS
        own = (socket.gethostname(), f"{socket.gethostname()}.local") if everywhere else (host,)
        patterns = (name.lower() for name in (*LOCAL_NAMES, *own, *allowed))
        return cls(tuple(dict.fromkeys(patterns)), everywhere)

    def includes(self, header: str) -> bool:
        """Whether a request with this Host header is answered."""
        domain, _ = split_domain_port(header)
        bare = domain.removeprefix("[").removesuffix("]")
        try:
            address = ip_address(bare)
        except ValueError:
            return bool(domain) and validate_host(domain, self.patterns)
        listed = validate_host(domain, self.patterns) or bare in self.patterns
        return listed or self.any_address or address.is_loopback
