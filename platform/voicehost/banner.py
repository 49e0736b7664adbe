"""What `serve` prints once the platform can speak."""

import asyncio
import http
from collections.abc import Sequence

from voicehost.env import Environment
from voicehost.hosts import WILDCARDS, host_answered
from voicehost.installation import credentials_path
from voicehost.readiness import readiness_ask

READY_TIMEOUT = 90.0
LOOK_SECONDS = 0.2


async def banner(environment: Environment, allowed_hosts: Sequence[str]) -> str:
    """Wait until `/readyz` says yes (at most 90 s), then tell addresses and a curl line.

    Where this machine's own address is not in `allowed_hosts`, people come through a
    proxy to one that is.
    """
    address = "127.0.0.1" if environment.host in WILDCARDS else environment.host
    name = host_answered(address, allowed_hosts)
    ready = await _wait_until_ready(address, environment.port, name)
    own = f"[{address}]" if ":" in address else address
    here = f"http://{own}:{environment.port}"
    base, behind = (here, "") if name == own else (f"https://{name}", f' -H "Host: {name}"')
    state = "Voicehost is ready." if ready else "Voicehost has started, but cannot speak yet:"
    key = (
        '$(python3 -c "import json; print(json.load(open('
        f"'{credentials_path(environment.var_dir)}'))['api_key'])\")"
    )
    return f"""
{state}
  API     {base}/v1/docs
  Admin   {base}/admin/
  Health  {base}/readyz

Speak:
  curl -s {here}/v1/audio/speech{behind} -H "Authorization: Bearer {key}" \\
    -H "Content-Type: application/json" \\
    -d '{{"model": "tts-1", "voice": "alloy", "input": "Hello, and welcome to Voicehost."}}' \\
    -o hello.mp3

Chinese, and both in one sentence, are spoken, too, such as "Hello! 你好，欢迎。":
the first time takes some seconds, while the Chinese voices are loaded.
"""


async def _wait_until_ready(address: str, port: int, name: str) -> bool:
    try:
        async with asyncio.timeout(READY_TIMEOUT):
            # Another process has no event to wait for.
            while not await _is_ready(address, port, name):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        return False
    return True


async def _is_ready(address: str, port: int, name: str) -> bool:
    status, _ = await asyncio.to_thread(readiness_ask, address, port, name=name)
    return status == http.HTTPStatus.OK
