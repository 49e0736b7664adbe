"""One recogniser process for all test processes of this checkout.

The first that needs it starts it; it ends by itself some seconds after the last
has left, however that one ended. They talk over a Unix socket in a private
folder: a JSON header and the samples go in, JSON comes out.
"""

import json
import os
import sys
import tempfile
import threading
import time
import zlib
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

import numpy as np

from tts.recognition.recogniser import Samples
from tts.recognition.whisper import WhisperTranscriber, locked

ROOT = Path(__file__).parents[2]
VAR = ROOT / "var"
CACHE = VAR / "cache" / "whisper"

START_SECONDS = 30.0
REPLY_SECONDS = 150.0
LINGER_SECONDS = 5.0
_POLL_SECONDS = 0.05


class SharedTranscriber:
    """A connection to the recogniser process. Use it from one thread."""

    def __init__(self) -> None:
        self._connection = _connect()

    def transcribe(self, audio: Samples, language: str) -> str:
        """The text of 16 kHz mono audio; raises RuntimeError with the process's own message."""
        try:
            return self._ask(audio, language)
        except (EOFError, ConnectionError):
            # It was about to end when this connection was made.
            self.close()
            self._connection = _connect()
            return self._ask(audio, language)

    def close(self) -> None:
        """Leave."""
        self._connection.close()

    def _ask(self, audio: Samples, language: str) -> str:
        self._connection.send_bytes(json.dumps({"language": language}).encode())
        self._connection.send_bytes(np.ascontiguousarray(audio, dtype=np.float32).tobytes())
        if not self._connection.poll(REPLY_SECONDS):
            raise RuntimeError(f"the recogniser did not answer within {REPLY_SECONDS} s")
        reply = json.loads(self._connection.recv_bytes())
        if "error" in reply:
            raise RuntimeError(f"the recogniser failed: {reply['error']}")
        return str(reply["text"])


def _folder() -> Path:
    # Not in the checkout: a socket's path may have 107 bytes.
    name = f"voicehost-judge-{os.getuid()}-{zlib.crc32(bytes(ROOT)):08x}"
    folder = Path(tempfile.gettempdir()) / name
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise RuntimeError(f"{folder} belongs to someone else")
    return folder


def _connect() -> "Connection[bytes, bytes]":
    folder = _folder()
    socket = folder / "socket"
    with locked(folder / "lock"):
        try:
            return Client(str(socket), family="AF_UNIX")
        except (FileNotFoundError, ConnectionError):
            socket.unlink(missing_ok=True)
        _spawn(folder)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                return Client(str(socket), family="AF_UNIX")
            except (FileNotFoundError, ConnectionError):
                time.sleep(_POLL_SECONDS)
    log = (folder / "log").read_text(errors="replace")[-500:]
    raise RuntimeError(f"the recogniser did not start within {START_SECONDS} s: {log}")


def _spawn(folder: Path) -> None:
    """Start the process. Not with subprocess: it outlives whoever started it."""
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    paths = (str(ROOT), str(ROOT / "platform"), os.environ.get("PYTHONPATH", ""))
    try:
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "tests.speech.shared", str(folder / "socket")],
            os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(log)


class Server:
    """Answers every connection in a thread of its own, one transcription at a time."""

    def __init__(self, address: str) -> None:
        self._listener = Listener(address, family="AF_UNIX", backlog=32)
        self._changed = threading.Condition()
        self._clients = 0
        self._one_at_a_time = threading.Lock()
        self._transcriber: WhisperTranscriber | None = None

    def serve(self, first_within: float = START_SECONDS, linger: float = LINGER_SECONDS) -> None:
        """Until nobody has been connected for `linger` seconds."""
        threading.Thread(target=self._accept, daemon=True).start()
        patience = first_within
        with self._changed:
            while self._changed.wait(patience) or self._clients:
                patience = linger
        self._listener.close()

    def _accept(self) -> None:
        while True:
            connection = self._listener.accept()
            with self._changed:
                self._clients += 1
                self._changed.notify()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: "Connection[bytes, bytes]") -> None:
        try:
            while True:
                header = json.loads(connection.recv_bytes())
                audio = np.frombuffer(connection.recv_bytes(), dtype=np.float32)
                connection.send_bytes(json.dumps(self._reply(audio, header["language"])).encode())
        except (EOFError, ConnectionError):
            pass
        finally:
            connection.close()
            with self._changed:
                self._clients -= 1
                self._changed.notify()

    def _reply(self, audio: Samples, language: str) -> dict[str, str]:
        try:
            with self._one_at_a_time:
                if self._transcriber is None:
                    self._transcriber = WhisperTranscriber(CACHE)
                return {"text": self._transcriber.transcribe(audio, language)}
        except Exception as error:  # noqa: BLE001 - the caller is told, whatever it was
            return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    Server(sys.argv[1]).serve()
