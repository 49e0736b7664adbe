"""The benchmarks there are, by name on the command line."""

from voicehost.bench.base import Bench
from voicehost.bench.chattts import ChatTtsBench
from voicehost.bench.chattts_error import ChatTtsErrorBench
from voicehost.bench.overhead import OverheadBench

BENCHES: tuple[Bench, ...] = (OverheadBench(), ChatTtsBench(), ChatTtsErrorBench())
