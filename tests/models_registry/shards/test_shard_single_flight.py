"""Threads that need one shard at the same time build it once, also where the first one fails."""

import threading
from concurrent.futures import ThreadPoolExecutor

from tests.models_registry.shards.shard_device import Device

THREADS = 8


def test_threads_wait_for_the_one_that_builds() -> None:
    device = Device()
    builds: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def build() -> str:
        builds.append(1)
        begun.set()
        go_on.wait(10)
        return "built"

    for number in range(THREADS):
        device.hold(f"h{number}")
    with ThreadPoolExecutor(THREADS) as pool:
        loads = [pool.submit(device.load, f"h{n}", "x", 10, build) for n in range(THREADS)]
        assert begun.wait(10)
        go_on.set()
        values = [load.result(10) for load in loads]

    assert len(builds) == 1
    assert all(value is values[0] for value in values)
    assert device.manager.stats().accounted == 10


def test_the_next_thread_builds_where_the_first_one_failed() -> None:
    device = Device()
    attempts: list[int] = []
    lock = threading.Lock()

    def build() -> str:
        with lock:
            attempts.append(1)
            first = len(attempts) == 1
        if first:
            raise OSError("torn")
        return "built"

    for number in range(THREADS):
        device.hold(f"h{number}")
    with ThreadPoolExecutor(THREADS) as pool:
        loads = [pool.submit(device.load, f"h{n}", "x", 10, build) for n in range(THREADS)]
        failed = [load for load in loads if load.exception(10) is not None]

    assert len(attempts) == 2
    assert len(failed) == 1


def test_two_loads_that_need_each_others_bytes_do_not_both_count_on_them() -> None:
    device = Device(limit=100)
    device.hold("old", settled=True)
    device.load("old", "x", 50)
    barrier = threading.Barrier(2)

    def load(name: str) -> bool:
        device.hold(name)
        barrier.wait(10)
        try:
            device.load(name, name, 60)
        except Exception:  # noqa: BLE001 - which one is refused is a matter of chance
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(load, ("a", "b"))) == [False, True]
    stats = device.manager.stats()
    assert stats.peak <= 100
    assert stats.accounted == 60
