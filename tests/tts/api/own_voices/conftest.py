"""The API with a tiny random ChatTTS version on the model `chattts`, and three more keys."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from models_registry.services import route_create, route_set
from tenants.models import QualityTier, Tenant
from tenants.services import api_key_issue, tenant_create, tier_create
from tests.tts.api.conftest import Api
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.services import chattts_import

PATH = "/v1/audio/voices"


@dataclass
class OwnVoices:
    """The API; `other` is another tenant's key, `speaker` one without the scope `voices`.

    `elsewhere` is a key whose tier may use the model `demo` alone.
    """

    api: Api
    tenant: Tenant
    other: str
    speaker: str
    elsewhere: str

    async def make(self, name: str, *, key: str | None = None, **fields: Any) -> Any:
        """POST a voice as JSON."""
        return await self.api.post(PATH, {"name": name} | fields, key=key)

    async def upload(self, fields: dict[str, Any], *, key: str | None = None) -> Any:
        """POST a voice as a form; a bytes value is a file."""
        body, content_type = form(fields)
        return await self.api.post(PATH, body, key=key, content_type=content_type)

    async def listed(self, key: str | None = None) -> list[str]:
        """The names of the voices that a key may use for ChatTTS."""
        answer = await self.api.get(f"{PATH}?model=chattts&legacy=true", key=key)
        return list(answer.json()["voices"])


def form(fields: dict[str, Any]) -> tuple[bytes, str]:
    """A form's body and its Content-Type."""
    boundary = "b0undary"
    parts = []
    for name, value in fields.items():
        for item in value if isinstance(value, list) else [value]:
            is_file = isinstance(item, bytes)
            head = f'Content-Disposition: form-data; name="{name}"'
            head += '; filename="anna.wav"\r\nContent-Type: audio/wav' if is_file else ""
            content = item if is_file else str(item).encode()
            parts.append(f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n")
    body = b"".join(parts) + f"--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny checkpoint."""
    folder = tmp_path_factory.mktemp("own-voices") / "tiny"
    RandomCheckpoint(Size.TINY).write(folder)
    return folder


@pytest.fixture
async def own(api: Api, checkpoint: Path) -> OwnVoices:
    """The API that can make voices."""
    return await sync_to_async(_prepare)(api, checkpoint)


def _prepare(api: Api, checkpoint: Path) -> OwnVoices:
    version = chattts_import(str(checkpoint), "1").key
    route_create(name="chattts")
    route_set("chattts", {version: 1}, actor="test")
    standard = QualityTier.objects.get(name="standard")
    demo = tier_create(
        name="demo", rank=1, priority="standard", profile="standard", concurrency=1,
        requests_per_minute=60, characters_per_minute=1_000, max_characters=1_000,
        max_queue_seconds=10.0, allowed_models=["demo"],
    )  # fmt: skip
    tenant = Tenant.objects.get(name="Acme")
    other = tenant_create(name="Other")
    return OwnVoices(
        api,
        tenant,
        other=api_key_issue(tenant=other, tier=standard)[1],
        speaker=api_key_issue(tenant=tenant, tier=standard, scopes=["speech"])[1],
        elsewhere=api_key_issue(tenant=tenant, tier=demo)[1],
    )
