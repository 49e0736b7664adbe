"""Errors of the supervisor.

SupervisorError
├── NoRedisServer      no server program was found for the embedded Redis
├── ServiceNotReady    a service did not answer in time
├── AlreadyRunning     another `serve` uses this state folder
└── AddressInUse       the web address, or a port for metrics, is taken
"""


class SupervisorError(Exception):
    """Base of all supervisor errors; the message says what to do."""


class NoRedisServer(SupervisorError):
    """No server program was found for the embedded Redis."""


class ServiceNotReady(SupervisorError):
    """A service did not answer in time."""


class AlreadyRunning(SupervisorError):
    """Another `serve` uses this state folder."""


class AddressInUse(SupervisorError):
    """The web address, or a port for metrics, is taken."""
