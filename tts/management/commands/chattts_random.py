"""Write a random ChatTTS checkpoint, for tests and benchmarks."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    """`chattts_random OUT --size tiny|small|full [--seed N] [--eos never|likely]`"""

    help = (
        "Write a complete random checkpoint in ChatTTS' layout. It speaks noise, at the speed of "
        "real weights of its size."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where it goes and what it is like."""
        parser.add_argument("out", type=Path, help="a folder that does not exist, or is empty")
        parser.add_argument("--size", choices=["tiny", "small", "full"], default="tiny")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument(
            "--eos",
            choices=["never", "likely"],
            default="never",
            help="never: utterances are as long as they may be; likely: they end by themselves",
        )

    def handle(self, *, out: Path, size: str, seed: int, eos: str, **options: object) -> None:
        """Write it, and say where."""
        # Imported here: manage.py imports every command's module to list its options.
        from tts.engines.chattts.random_checkpoint import Ends, RandomCheckpoint, Size

        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise CommandError(f"{out} exists and is not an empty folder")
        if seed < 0:
            raise CommandError(f"--seed must be at least 0, not {seed}")
        RandomCheckpoint(Size(size), seed, Ends(eos)).write(out)
        files = [path for path in out.rglob("*") if path.is_file()]
        total = sum(path.stat().st_size for path in files)
        self.stdout.write(f"{out}: {len(files)} files, {total:,} bytes.")
