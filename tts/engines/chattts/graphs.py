"""How a fixed sequence of operations is run again and again on a device.

Runner
├── EagerRunner  operation by operation, on any device: the same code without graphs
└── CudaRunner   captured once as a CUDA graph, on a stream of its own
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

import torch
from torch import Tensor

_WARM_UPS: Final = 2
"""Runs before a capture, in which libraries choose and load their kernels."""


class Replay(Protocol):
    """A sequence of operations over buffers whose addresses never change."""

    def __call__(self) -> None:
        """Queue it once more."""

    def free(self) -> None:
        """Free its memory; it is not called afterwards."""


class Runner(Protocol):
    """A device's queue, for one owner thread at a time."""

    device: torch.device

    def active(self) -> AbstractContextManager[object]:
        """Within the block, what torch computes is queued here."""

    def host(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Zeros in host memory that the device copies from and to by itself."""

    def capture(self, compute: Callable[[], None]) -> Replay:
        """`compute` made ready to be replayed; called within `active`."""

    def wait(self) -> None:
        """Until everything queued has been computed."""

    def close(self) -> None:
        """Free what is shared by the replays, which are freed before."""


class _Eager:
    def __init__(self, compute: Callable[[], None]) -> None:
        self._compute: Callable[[], None] | None = compute

    def __call__(self) -> None:
        if self._compute is not None:
            self._compute()

    def free(self) -> None:
        self._compute = None


class EagerRunner:
    """Operation by operation."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def active(self) -> AbstractContextManager[object]:
        """See `Runner.active`."""
        return torch.cuda.device(self.device) if self._cuda else nullcontext()

    def host(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """See `Runner.host`."""
        return torch.zeros(shape, dtype=dtype, pin_memory=self._cuda)

    def capture(self, compute: Callable[[], None]) -> Replay:
        """See `Runner.capture`."""
        return _Eager(compute)

    def wait(self) -> None:
        """See `Runner.wait`."""
        if self._cuda:
            torch.cuda.current_stream(self.device).synchronize()

    def close(self) -> None:
        """See `Runner.close`."""

    @property
    def _cuda(self) -> bool:
        return self.device.type == "cuda"


class _Graph:
    def __init__(self, graph: torch.cuda.CUDAGraph, freed: Callable[[], None]) -> None:
        self._graph = graph
        self._freed = freed

    def __call__(self) -> None:
        self._graph.replay()

    def free(self) -> None:
        self._graph.reset()
        self._freed()


class CudaRunner:
    """CUDA graphs that share one private memory pool: they are never replayed side by side.

    The stream is the runner's own, since a library's workspace belongs to a stream and is
    written by every graph that was captured on it.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs = 0

    def active(self) -> AbstractContextManager[object]:
        """See `Runner.active`."""
        # Makes the stream's device the current one, too.
        return torch.cuda.stream(self._stream)

    def host(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """See `Runner.host`."""
        return torch.zeros(shape, dtype=dtype, pin_memory=True)

    def capture(self, compute: Callable[[], None]) -> Replay:
        """See `Runner.capture`."""
        for _ in range(_WARM_UPS):
            compute()
        self.wait()
        if not self._graphs:
            # Torch refuses to capture into a pool whose last graph is gone.
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # Another engine may be speaking in its own thread meanwhile, so only what this thread
        # calls can spoil the capture.
        with torch.cuda.graph(
            graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
        ):
            compute()
        self._graphs += 1
        return _Graph(graph, self._forget)

    def _forget(self) -> None:
        self._graphs -= 1

    def wait(self) -> None:
        """See `Runner.wait`."""
        self._stream.synchronize()

    def close(self) -> None:
        """See `Runner.close`."""
        self._stream.synchronize()


def runner_create(device: torch.device, *, graphs: bool = True) -> Runner:
    """Graphs where the device has them and they are wanted."""
    if device.type == "cuda" and graphs:
        return CudaRunner(device)
    return EagerRunner(device)
