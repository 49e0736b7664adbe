"""`bench chattts-error`: each profile's numbers against full precision, on random weights."""

from argparse import ArgumentParser
from pathlib import Path

from tts.engine.errors import EngineError
from tts.engine.request import Profile
from tts.engines.devices import cores
from voicehost.bench.base import BenchRun
from voicehost.bench.chattts_options import checkpoint, checkpoint_arguments
from voicehost.bench.errors import BenchError

HIDDEN_AIMS = {Profile.HQ: "<= 0.0001"}
"""float32 in another order of sums; what the others may differ by, a recogniser decides."""

REFERENCE_SECONDS = {"tiny": 5.0, "small": 10.0, "full": 30.0}


class ChatTtsErrorBench:
    """Hidden states, logits and audio of each profile on the same tokens."""

    name = "chattts-error"
    help = "ChatTTS: the numeric error of each profile against float32, on random weights"
    seconds = 240.0
    needs_platform = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which weights, and how much is computed."""
        checkpoint_arguments(parser)
        parser.add_argument("--tokens", type=int, default=256, help="audio tokens (%(default)s)")

    def run(self, run: BenchRun) -> None:
        """Measure each profile; raises BenchError."""
        tokens = run.options["tokens"]
        if not 2 <= tokens <= 1_024:
            raise BenchError(f"--tokens must be 2 to 1024, not {tokens}")
        try:
            with checkpoint(run) as folder:
                self._measure(run, folder, tokens)
        except EngineError as error:
            raise BenchError(error.message) from error

    def _measure(self, run: BenchRun, folder: Path, tokens: int) -> None:
        # Nothing that needs torch is imported before it is used: manage.py imports this module.

        from tts.engines.chattts.bench.numeric import NumericErrors
        from tts.engines.chattts.manifest import chattts_manifest
        from tts.engines.shards import LocalShards

        run.progress.part("float32, by torch", needs=REFERENCE_SECONDS[run.options["size"]])
        before = run.budget.spent
        shards = LocalShards(chattts_manifest(folder).shards)
        errors = NumericErrors(shards, tokens, threads=cores())
        # No profile takes longer than the reference.
        needs = run.budget.spent - before
        add = run.report.add
        for profile in Profile:
            run.progress.part(str(profile), needs=needs)
            found = errors.of(profile)
            add(
                f"{profile}, hidden states, relative",
                found.hidden,
                "share",
                HIDDEN_AIMS.get(profile),
            )
            add(f"{profile}, logits, largest difference", found.logits, "")
            add(f"{profile}, logits, their standard deviation", found.spread, "")
            add(f"{profile}, likeliest code is another", found.changed, "share")
            add(f"{profile}, audio, relative", found.audio, "share")
            add(f"{profile}, audio, by the vocoder alone", found.vocoder, "share")
