"""What a web or Celery process imports: never a model's library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "ChatTTS", "transformers", "onnxruntime", "hibari", "misaki")


@pytest.mark.parametrize("module", ["voicehost.asgi", "voicehost.celery"])
def test_no_model_library_is_imported(module: str, tmp_path: Path) -> None:
    code = (
        f"import json, sys, {module}, django; django.setup();"
        f"import voicehost.urls; print(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
            "DJANGO_SETTINGS_MODULE": "voicehost.settings.dev",
            "VAR_DIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == []
