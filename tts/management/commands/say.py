"""`manage.py say`: speak without a server, or show what would be spoken."""

import asyncio
import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError

from tts.audio.encoder import StreamEncoder
from tts.audio.errors import AudioError
from tts.audio.format import AudioFormat
from tts.engine.errors import EngineError
from tts.engines.devices import cores
from tts.local import LocalModel, LocalSpeaker, local_model, local_speaker
from tts.speech.errors import SpeechError
from tts.speech.order import MAX_SEED
from tts.text.errors import TextError
from tts.text.segment import Language, Segment
from tts.text.split import iter_segments, segment_text
from tts.text.validate import text_validate

MAX_CHARACTERS = 1_000_000


class Command(BaseCommand):
    """Speak a text with the bundled model in this process."""

    help = "Speak TEXT to a file (or '-' for standard output); needs no server and no database."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the command line."""
        parser.add_argument("text", nargs="?", help="the text; read from standard input if absent")
        parser.add_argument("--out", default="speech.mp3", help="file, its ending names the format")
        parser.add_argument("--voice", default="af_heart", help="a voice, or a mix like a(2)+b(1)")
        parser.add_argument("--speed", type=float, default=1.0, help="0.25 to 4")
        parser.add_argument("--seed", type=int, help="the same seed gives the same audio")
        parser.add_argument("--language", choices=[item.value for item in Language])
        parser.add_argument(
            "--dry-run", action="store_true", help="print the segments as JSON, speak nothing"
        )
        parser.add_argument(
            "--lines",
            action="store_true",
            help="with --dry-run: one text a line from standard input, one JSON line each",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Speak, or print segments."""
        language = None if options["language"] is None else Language(options["language"])
        if options["lines"] and not options["dry_run"]:
            raise CommandError("--lines goes with --dry-run")
        try:
            if options["lines"]:
                self._print_lines(language)
                return
            text = sys.stdin.read() if options["text"] is None else options["text"]
            if options["dry_run"]:
                self.stdout.write(json.dumps(_plan(text, language), ensure_ascii=False, indent=2))
                return
            text_validate(text, MAX_CHARACTERS)
            self._speak(text, language, options)
        except (TextError, SpeechError, EngineError) as error:
            raise CommandError(error.message) from error
        except AudioError as error:
            raise CommandError(str(error)) from error

    def _print_lines(self, language: Language | None) -> None:
        for line in sys.stdin:
            try:
                plan = _plan(line.rstrip("\n"), language)
            except TextError as error:
                plan = {"error": {"code": error.code, "message": error.message}}
            self.stdout.write(json.dumps(plan, ensure_ascii=False))
            self.stdout.flush()

    def _speak(self, text: str, language: Language | None, options: dict[str, Any]) -> None:
        if not 0.25 <= options["speed"] <= 4.0:
            raise CommandError(f"--speed is 0.25 to 4, not {options['speed']}")
        if options["seed"] is not None and not 0 <= options["seed"] <= MAX_SEED:
            raise CommandError(f"--seed is 0 to {MAX_SEED}, not {options['seed']}")
        out = options["out"]
        suffix = "wav" if out == "-" else Path(out).suffix.removeprefix(".").lower()
        audio_format = AudioFormat.parse(suffix)
        model = local_model()
        if model.note:
            self.stderr.write(model.note)
            if options["voice"] == "af_heart":
                options["voice"] = "alloy"
        started = time.monotonic()
        if out == "-":
            asyncio.run(_write(model, text, language, options, sys.stdout.buffer, audio_format))
            return
        with _whole_file(Path(out)) as target:
            seconds = asyncio.run(_write(model, text, language, options, target, audio_format))
        wall = time.monotonic() - started
        self.stderr.write(f"{out}: {seconds:.1f} s of audio in {wall:.1f} s")


@contextmanager
def _whole_file(out: Path) -> Iterator[BinaryIO]:
    """A file that appears when it is whole, or not at all; raises CommandError."""
    draft = Path(f"{out}.part")
    try:
        target = draft.open("wb")
    except OSError as error:
        raise CommandError(f"--out {out} cannot be written: {error.strerror}") from error
    try:
        with target:
            yield target
        try:
            draft.replace(out)
        except OSError as error:
            raise CommandError(f"--out {out} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


async def _write(
    model: LocalModel,
    text: str,
    language: Language | None,
    options: dict[str, Any],
    target: BinaryIO,
    audio_format: AudioFormat,
) -> float:
    """Speak into `target`; returns seconds of audio."""
    async with local_speaker(model, threads=min(2, cores())) as speaker:
        audio = speaker.speak(
            iter_segments(text, language),
            voice=options["voice"],
            speed=options["speed"],
            seed=options["seed"],
        )
        stored = options["out"] != "-"
        return await _encode(speaker, audio, audio_format, target, stored=stored)


async def _encode(
    speaker: LocalSpeaker,
    audio: AsyncIterator[bytes],
    audio_format: AudioFormat,
    target: BinaryIO,
    *,
    stored: bool,
) -> float:
    rate = speaker.sample_rate
    samples = 0
    with StreamEncoder(audio_format, rate, rate, stored=stored) as encoder:
        async for pcm in audio:
            samples += len(pcm) // 2
            target.write(encoder.encode(pcm))
        target.write(encoder.finish())
    return samples / rate


def _plan(text: str, language: Language | None) -> dict[str, Any]:
    text_validate(text, MAX_CHARACTERS)
    return {"segments": [_describe(segment) for segment in segment_text(text, language)]}


def _describe(segment: Segment) -> dict[str, Any]:
    return {
        "index": segment.index,
        "source": segment.source,
        "spoken": segment.spoken,
        "languages": list(segment.languages),
        "start": segment.start,
        "end": segment.end,
        "spans": [
            {
                "language": span.language,
                "spoken": span.spoken,
                "start": span.start,
                "end": span.end,
            }
            for span in segment.spans
        ],
        "marks": [{"token": mark.token, "offset": mark.offset} for mark in segment.marks],
        "prompt": list(segment.prompt),
    }
