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
    LONGEST_SOCKET_PATH,
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
    server = SupervisedProcess(redis_spec(program=program, var_dir=tmp_path, socket=path), _ignore)
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
