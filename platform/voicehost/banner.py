"""What `serve` prints once the platform can speak."""

import http.client
import time

from voicehost.env import Environment
from voicehost.installation import credentials_path

READY_TIMEOUT = 90.0


def banner(environment: Environment) -> str:
    """Wait until `/readyz` says yes (at most 90 s), then tell addresses and a curl line."""
    host = "127.0.0.1" if environment.host in ("0.0.0.0", "::") else environment.host  # noqa: S104
    ready = _wait_until_ready(host, environment.port)
    base = f"http://{f'[{host}]' if ':' in host else host}:{environment.port}"
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
  curl -s {base}/v1/audio/speech -H "Authorization: Bearer {key}" \\
    -H "Content-Type: application/json" \\
    -d '{{"model": "tts-1", "voice": "alloy", "input": "Hello! 你好，欢迎。"}}' -o hello.mp3
"""


def _wait_until_ready(host: str, port: int) -> bool:
    deadline = time.monotonic() + READY_TIMEOUT
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(host, port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return True
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.2)
    return False
