"""Reading a process's Prometheus metrics."""

import math
import urllib.request
from dataclasses import dataclass
from typing import Self

from prometheus_client.parser import text_string_to_metric_families

from voicehost.bench.figures import histogram_percentile

SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Metrics:
    """Samples by name and labels (sorted pairs), as they were at one moment."""

    samples: dict[tuple[str, tuple[tuple[str, str], ...]], float]

    @classmethod
    def read(cls, port: int) -> Self:
        """Scrape 127.0.0.1:`port`; raises OSError."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/metrics", timeout=SECONDS
        ) as response:
            return cls.parse(response.read().decode())

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text format."""
        return cls(
            {
                (sample.name, tuple(sorted(sample.labels.items()))): sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            }
        )

    def since(self, before: "Metrics") -> "Metrics":
        """What was added since `before`; for counters and histograms."""
        return Metrics(
            {key: value - before.samples.get(key, 0.0) for key, value in self.samples.items()}
        )

    def mean(self, name: str, **labels: str) -> float:
        """The mean of a histogram's observations; NaN when there are none."""
        key = tuple(sorted(labels.items()))
        count = self.samples.get((f"{name}_count", key), 0.0)
        return self.samples.get((f"{name}_sum", key), 0.0) / count if count else math.nan

    def percentile(self, name: str, share: float) -> float:
        """The percentile of an unlabelled histogram; NaN when it is empty."""
        buckets = sorted(
            (float(dict(labels)["le"]), value)
            for (sample, labels), value in self.samples.items()
            if sample == f"{name}_bucket"
        )
        return histogram_percentile(buckets, share)
