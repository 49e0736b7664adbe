"""What a benchmark found: results with their aims, as a table and as JSON."""

import json
import math
import operator
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from voicehost.bench.errors import AimInvalid
from voicehost.bench.machine import Machine

_AIM = re.compile(r"(<=|>=) (-?\d+(?:\.\d+)?)")
_COMPARE: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}
_VERDICTS = {True: "yes", False: "NO", None: ""}


@dataclass(frozen=True, slots=True)
class Aim:
    """What a value should be: at most (`<=`) or at least (`>=`) a limit."""

    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "<= 15" or ">= 0.9"; raises AimInvalid."""
        match = _AIM.fullmatch(text)
        if match is None:
            raise AimInvalid(f'an aim is "<= NUMBER" or ">= NUMBER", not {text!r}')
        return cls(match[1], float(match[2]))

    def met_by(self, value: float) -> bool:
        """Whether `value` is as it should be; NaN never is."""
        return not math.isnan(value) and _COMPARE[self.sign](value, self.limit)


@dataclass(frozen=True, slots=True)
class Result:
    """One number. `ok` is None where there is no aim."""

    name: str
    value: float
    unit: str
    aim: str | None = None
    ok: bool | None = None

    @classmethod
    def of(cls, name: str, value: float, unit: str, aim: str | None = None) -> Self:
        """A result whose `ok` follows from its aim; raises AimInvalid."""
        ok = None if aim is None else Aim.parse(aim).met_by(value)
        return cls(name, value, unit, aim, ok)


@dataclass(slots=True)
class Report:
    """The results of one run, in the order in which they were found."""

    machine: Machine
    results: list[Result] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """What the budget did not hold, in words."""

    def add(self, name: str, value: float, unit: str, aim: str | None = None) -> Result:
        """Add a result; raises AimInvalid."""
        result = Result.of(name, value, unit, aim)
        self.results.append(result)
        return result

    @property
    def missed(self) -> list[Result]:
        """The results that fall short of their aim."""
        return [result for result in self.results if result.ok is False]

    def table(self) -> str:
        """The results for people, under a line about the machine."""
        rows = [("", "value", "unit", "aim", "met")]
        rows += [
            (result.name, number(result.value), result.unit, result.aim or "", _VERDICTS[result.ok])
            for result in self.results
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  "
            f"{row[2]:<{widths[2]}}  {row[3]:<{widths[3]}}  {row[4]}".rstrip()
            for row in rows
        ]
        left_out = [f"Left out, since the budget does not hold it: {it}" for it in self.left_out]
        return "\n".join(
            [str(self.machine), "", lines[0], "-" * len(lines[0]), *lines[1:], *left_out]
        )

    def to_json(self) -> str:
        """`{"machine": {…}, "results": [{name, value, unit, aim, ok}, …], "left_out": […]}`.

        NaN becomes null.
        """
        results = [
            {**asdict(result), "value": None if math.isnan(result.value) else result.value}
            for result in self.results
        ]
        return json.dumps(
            {"machine": asdict(self.machine), "results": results, "left_out": self.left_out},
            indent=2,
        )

    def write(self, path: Path) -> None:
        """Write the JSON to `path`."""
        path.write_text(self.to_json() + "\n", encoding="utf-8")


def number(value: float) -> str:
    """A value with three significant digits, whole numbers in full."""
    if math.isnan(value):
        return "-"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f}"
