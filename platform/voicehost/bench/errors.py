"""Errors of the benchmarks.

BenchError
├── AimInvalid         an aim is not written as "<= NUMBER" or ">= NUMBER"
├── BudgetSpent        the time that it may take is over, or does not hold what comes next
├── PlatformFailed     the platform did not start, or ended
├── RequestFailed      a request for speech was refused or broke off
└── GeneratorFailed    the load generator did not do what it was told
"""


class BenchError(Exception):
    """Base of all errors of a benchmark; the message says what was wrong and where."""


class AimInvalid(BenchError):
    """An aim is not written as "<= NUMBER" or ">= NUMBER"."""


class BudgetSpent(BenchError):
    """The time that a benchmark may take is over, or does not hold what comes next."""


class PlatformFailed(BenchError):
    """The platform did not start, or ended."""


class RequestFailed(BenchError):
    """A request for speech was refused or broke off."""


class GeneratorFailed(BenchError):
    """The load generator did not do what it was told."""
