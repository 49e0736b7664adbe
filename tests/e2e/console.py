"""An operator at work: management code run in a process that stays, so that changes cost little."""

import json
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tests.e2e.platform import ROOT, Platform

LOOP = """
import contextlib, io, json, sys, time, traceback
out = sys.stdout
print(json.dumps("ready"), file=out, flush=True)
for line in sys.stdin:
    names = dict(json.loads(line))
    code = names.pop("code")
    names["result"] = None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, names)
        answer = {"result": names["result"], "at": time.time()}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer), file=out, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What `code` left in `result`, and when it was done (a time of `time.monotonic`)."""

    result: Any
    at: float


class Console:
    """A `manage.py shell` of a platform; `settings` are environment variables of its own."""

    def __init__(self, platform: Platform, **settings: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "shell", "--no-imports", "-c", LOOP],
            env={**platform.environment, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        process = self._process
        process.kill()
        process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()

    def run(self, code: str, **names: object) -> Answer:
        """Execute `code` with `names` (JSON values) defined."""
        assert self._process.stdin is not None
        message = json.dumps({"code": textwrap.dedent(code), **names})
        self._process.stdin.write(message + "\n")
        self._process.stdin.flush()
        answer = self._read()
        assert "error" not in answer, answer["error"]
        return Answer(answer["result"], time.monotonic() - (time.time() - answer["at"]))

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the console ended"
        return json.loads(line)
