"""CUDA graphs share a pool of memory as long as one of them is there, and no longer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest
import torch

from tts.engines.chattts.graphs import CudaRunner

Pool = tuple[int, int]


class Stream:
    def __init__(self, device: torch.device) -> None:
        self.device = device

    def synchronize(self) -> None:
        """Nothing is queued."""


class Graph:
    def reset(self) -> None:
        """Nothing was captured."""


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[Pool]:
    """The pools that were captured into, on a device that is made up."""
    used: list[Pool] = []
    numbers = count()
    handle: Callable[[], Pool] = lambda: (0, next(numbers))  # noqa: E731

    @contextmanager
    def graph(graph: Graph, *, pool: Pool, **options: object) -> Iterator[None]:
        used.append(pool)
        yield

    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", handle)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    return used


def test_a_pool_whose_graphs_are_gone_is_not_captured_into(pools: list[Pool]) -> None:
    runner = CudaRunner(torch.device("cuda:0"))
    wide, narrow = runner.capture(lambda: None), runner.capture(lambda: None)
    narrow.free()
    again = runner.capture(lambda: None)
    assert len(set(pools)) == 1
    for replay in (wide, again):
        replay.free()
    runner.capture(lambda: None)
    assert pools[-1] != pools[0]
