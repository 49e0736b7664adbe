"""Listen to a version: is every profile understood as well as full precision?"""

import json
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from coordination.command import AuditedCommand
from tts.errors import ModelCheckFailed
from tts.services import version_check
from tts.services.checks import FULL


class Command(AuditedCommand):
    """`model_check chattts@release [--sentences N] [--json FILE]`"""

    help = (
        "Have every profile of a version speak Chinese and English sentences to a recogniser, and "
        "keep with the version what was heard. A profile that is understood worse than full "
        "precision, by more than one percentage point, is loaded in more exact numbers from then "
        "on. Takes minutes, and memory for one engine beside those that run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which version, and how thoroughly."""
        parser.add_argument("key", metavar="MODEL@VERSION")
        parser.add_argument(
            "--sentences",
            type=int,
            default=FULL,
            help=f"in each language; fewer than {FULL} are a try, of which nothing is kept",
        )
        parser.add_argument("--json", type=Path, metavar="FILE", help="write what was heard there")

    def handle(self, *, key: str, sentences: int, json: Path | None, **options: object) -> None:
        """Listen, and say what was heard."""
        if not 1 <= sentences <= FULL:
            raise CommandError(f"--sentences is 1 to {FULL}, not {sentences}")
        try:
            checked = version_check(key, sentences=sentences, told=self._told)
        except ModelCheckFailed as error:
            raise CommandError(str(error)) from error
        # Imported here: a process that only lists its commands needs none of it.
        from tts.checking import report

        for line in report.lines(key, checked):
            self.stdout.write(line)
        if sentences < FULL:
            self.stdout.write(f"A try: nothing is kept of fewer than {FULL} sentences.")
        if json is not None:
            _write(json, report.to_json(key, sentences, checked))

    def _told(self, line: str) -> None:
        self.stderr.write(line)


def _write(path: Path, value: dict[str, object]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
