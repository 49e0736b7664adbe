"""The embedded Redis: which program, which socket, and that it answers."""

import os
import stat
from pathlib import Path

import pytest
import redis.asyncio

from voicehost.supervisor import redis_server
from voicehost.supervisor.errors import NoRedisServer, ServiceNotReady
from voicehost.supervisor.process import ProcessSpec, SupervisedProcess
from voicehost.supervisor.redis_server import (
    LOG_NAME,
    LONGEST_SOCKET_PATH,
    data_folder,
    redis_ready,
    redis_spec,
    server_program,
    socket_path,
)


async def _ignore(spec: ProcessSpec) -> None:
    """Nobody needs to know."""


@pytest.mark.parametrize("embedded", [True, False])
async def test_it_starts_on_a_private_socket(tmp_path: Path, embedded: bool) -> None:
    path = socket_path(tmp_path)
    program = server_program(embedded=embedded)
    data = await data_folder(program, tmp_path)
    server = SupervisedProcess(redis_spec(program=program, data=data, socket=path), _ignore)
    await server.start()
    try:
        await redis_ready(f"unix://{path}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        async with redis.asyncio.Redis.from_url(f"unix://{path}") as client:
            await client.set("key", "value")
            config = await client.config_get("appendonly", "port")
        assert config == {"appendonly": "no", "port": "0"}
    finally:
        await server.stop()
    assert not path.exists()


def test_a_program_on_path_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "valkey-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert server_program(embedded=False) == str(program)
    assert server_program(embedded=True) != str(program)


def test_without_any_server_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(redis_server, "_packaged_program", _no_binary)
    with pytest.raises(NoRedisServer, match="REDIS_URL"):
        server_program(embedded=False)


def _no_binary() -> str:
    raise OSError("no binary for this machine")


def test_a_socket_path_that_is_too_long_moves_to_a_private_folder(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    path = socket_path(deep)
    assert len(os.fsencode(path)) <= LONGEST_SOCKET_PATH
    assert path == socket_path(deep)
    assert path != socket_path(deep / "other")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.parent.rmdir()
    socket_path(deep / "other").parent.rmdir()


async def test_a_server_that_never_answers_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ServiceNotReady, match="does not answer"):
        await redis_ready(f"unix://{tmp_path}/none.sock", timeout=0.2)


@pytest.mark.parametrize(
    ("told", "folder"),
    [
        ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", "redis-7"),
        ("Redis server v=8.2.1 sha=00000000:0", "redis-8"),
        ("Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64", "valkey-9"),
        ("something else", "a-server"),
    ],
)
async def test_each_flavour_and_major_version_has_its_own_data(
    tmp_path: Path, told: str, folder: str
) -> None:
    program = tmp_path / "a-server"
    program.write_text(f"#!/bin/sh\necho '{told}'\n")
    program.chmod(0o755)
    assert await data_folder(str(program), tmp_path) == tmp_path / "redis" / folder


async def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoRedisServer, match="gone"):
        await data_folder(str(tmp_path / "gone"), tmp_path)


async def test_another_server_starts_where_one_left_a_snapshot_that_it_cannot_read(
    tmp_path: Path,
) -> None:
    """The packaged server ran here, and then somebody installed one of the system's."""
    for embedded in (True, False, True):
        program = server_program(embedded=embedded)
        path = socket_path(tmp_path)
        data = await data_folder(program, tmp_path)
        server = SupervisedProcess(redis_spec(program=program, data=data, socket=path), _ignore)
        await server.start()
        try:
            await redis_ready(f"unix://{path}", data=data)
            async with redis.asyncio.Redis.from_url(f"unix://{path}") as client:
                await client.set(f"from-{data.name}", "1")
                kept = await client.get(f"from-{data.name}")
                await client.save()
        finally:
            await server.stop()
        assert kept == b"1"
        assert (data / "dump.rdb").is_file()


async def test_a_snapshot_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    program = server_program(embedded=True)
    path, data = socket_path(tmp_path), await data_folder(program, tmp_path)
    data.mkdir(parents=True)
    (data / "dump.rdb").write_bytes(b"VALKEY999 is from the future")
    server = SupervisedProcess(redis_spec(program=program, data=data, socket=path), _ignore)
    await server.start()
    try:
        with pytest.raises(ServiceNotReady) as failure:
            await redis_ready(f"unix://{path}", timeout=1.0, data=data)
    finally:
        await server.stop()
    told = str(failure.value)
    assert f"The end of {data / LOG_NAME}:" in told
    assert "RDB" in told
