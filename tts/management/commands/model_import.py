"""Import a model: register a version and its voices."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from coordination.command import AuditedCommand
from tts.errors import ModelImportFailed
from tts.services import (
    ImportedVersion,
    chattts_import,
    check_if_due,
    kokoro_import,
    tone_import,
    unverified_line,
)


class Command(AuditedCommand):
    """Import one of three models.

    `model_import chattts PATH_OR_HUB_ID [--version V] [--dvae] [--no-check]`,
    `model_import kokoro [FOLDER] [--version V]`, `model_import tone [--version V] [--config JSON]`
    """

    help = (
        "Register a version of a model and its voices; safe to run again. Kokoro comes from the "
        "installed packages, or from a folder with the official release's .onnx and voices files; "
        "ChatTTS from a folder in its authors' layout (asset/…), or from the Hugging Face hub."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Let our `--version` (of the model) replace Django's own."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The model and where it comes from."""
        parser.add_argument("model", choices=["chattts", "kokoro", "tone"])
        parser.add_argument(
            "place",
            nargs="?",
            help="chattts: a folder or a hub id (owner/name[@revision]); kokoro: a folder",
        )
        parser.add_argument("--version", dest="label", help="the name of the version")
        parser.add_argument(
            "--no-check",
            dest="check",
            action="store_false",
            help="chattts: do not listen to weights that are new (see model_check)",
        )
        parser.add_argument(
            "--dvae",
            action="store_true",
            help=(
                "chattts: speak by the DVAE from audio tokens, not by the Decoder, which may be"
                " missing then (the original's use_decoder=False)"
            ),
        )
        parser.add_argument("--config", type=_config, help="tone: its settings, as JSON")

    def handle(
        self,
        *,
        model: str,
        place: str | None,
        label: str | None,
        config: dict[str, object] | None,
        check: bool,
        dvae: bool,
        **options: object,
    ) -> None:
        """Import, and say what was done."""
        if model == "tone" and place is not None:
            raise CommandError("tone has no files: leave the folder out")
        if model == "chattts" and place is None:
            raise CommandError("chattts needs the path of a checkpoint, or a hub id (owner/name)")
        if model != "tone" and config is not None:
            raise CommandError(f"{model} has no settings: leave --config out")
        if model != "chattts" and dvae:
            raise CommandError(f"{model} has no DVAE: leave --dvae out")
        try:
            if model == "chattts" and place is not None:
                imported = chattts_import(place, label, use_decoder=not dvae)
            elif model == "kokoro":
                imported = kokoro_import(Path(place) if place is not None else None, label)
            else:
                imported = tone_import(label, config) if label else tone_import(config=config)
        except ModelImportFailed as error:
            raise CommandError(str(error)) from error
        self._report(imported)
        if model == "chattts":
            # The import stands in any case.
            if check:
                check_if_due(imported.key, self._told)
            if line := unverified_line(imported.key):
                self.stdout.write(line)

    def _report(self, imported: ImportedVersion) -> None:
        if imported.is_new:
            self.stdout.write(f"{imported.key}: registered, {imported.size:,} bytes verified.")
        else:
            self.stdout.write(f"{imported.key}: is registered already.")
        if imported.voices:
            self.stdout.write(f"New voices: {', '.join(imported.voices)}.")
        self.stdout.write(f"Give it traffic with: manage.py route_set MODEL {imported.key}=100")

    def _told(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _config(text: str) -> dict[str, object]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value
