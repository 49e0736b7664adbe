"""A checkpoint comes from a hub whole and verified, and goes on where it was cut off.

The hub's own client runs, against a server on this machine.
"""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import constants

from tests.tts.engines.chattts.damaged import copied
from tests.tts.engines.chattts.hub_server import COMMIT, Hub, hub_serve
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.hub import HubId, hub_download
from tts.engines.chattts.manifest import chattts_manifest

NAME = HubId("owner/name")


@pytest.fixture
def hub(chattts_tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with a checkpoint and files that nobody needs."""
    asset = copied(chattts_tiny, tmp_path / "repository")
    (asset.parent / "README.md").write_text("nobody needs this")
    (asset / "GPT.pt").write_bytes(b"nor this")
    with hub_serve(Hub(asset.parent)) as hub:
        _point(monkeypatch, hub.endpoint)
        yield hub


def _point(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Let the client, which has read its environment already, talk to `endpoint`."""

    template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    # It goes on at the last whole piece.
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 4096)


@pytest.mark.parametrize(
    ("text", "repository", "revision"),
    [
        ("2Noise/ChatTTS", "2Noise/ChatTTS", None),
        ("a/b.c-d_e@v1.0", "a/b.c-d_e", "v1.0"),
        ("a/b@refs/pr/3", "a/b", "refs/pr/3"),
    ],
)
def test_hub_ids(text: str, repository: str, revision: str | None) -> None:
    assert HubId.parse(text) == HubId(repository, revision)
    assert str(HubId.parse(text)) == text


@pytest.mark.parametrize("text", ["", "a", "a/b/c", "/a/b", "../b", "a/..", "a/b@", "a b/c"])
def test_what_is_no_hub_id(text: str) -> None:
    assert HubId.parse(text) is None


def test_download_is_the_checkpoint(
    hub: Hub, chattts_tiny: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = hub_download(NAME, tmp_path / "models")
    assert folder == tmp_path / "models" / "owner--name" / COMMIT
    there, here = chattts_manifest(chattts_tiny), chattts_manifest(folder)
    assert [shard.sha256 for shard in here.shards] == [shard.sha256 for shard in there.shards]
    assert "Fetching 10 files: 100%" in capfd.readouterr().err
    assert not (folder / "README.md").exists()
    assert not (folder / "asset" / "GPT.pt").exists()
    before = len(hub.served)
    hub_download(NAME, tmp_path / "models")
    assert len(hub.served) == before


def test_the_decoder_is_left_out_where_the_dvae_speaks(hub: Hub, tmp_path: Path) -> None:
    folder = hub_download(NAME, tmp_path / "models", use_decoder=False)
    assert not (folder / "asset" / layout.DECODER).exists()
    assert chattts_manifest(folder, use_decoder=False).model.decoder is None


def test_download_goes_on_where_it_was_cut_off(hub: Hub, tmp_path: Path) -> None:
    name = f"asset/{layout.DVAE}"
    partial = tmp_path / "models" / "owner--name" / COMMIT
    hub.cut_after = 20_000
    folder = hub_download(NAME, tmp_path / "models")
    assert folder == partial
    resumed = [wanted for _, wanted in hub.served if wanted]
    assert resumed
    assert all(wanted.startswith("bytes=") and wanted != "bytes=0-" for wanted in resumed)
    assert (folder / name).read_bytes() == (hub.folder / name).read_bytes()


@pytest.mark.parametrize("name", [f"asset/{layout.VOCOS}", f"asset/{layout.GPT_CONFIG}"])
def test_damaged_file_is_removed(hub: Hub, tmp_path: Path, name: str) -> None:
    hub.claims[name] = "0" * (64 if name.endswith("safetensors") else 40)
    with pytest.raises(VersionUnavailable, match=f"owner/name.*{name} was damaged on its way"):
        hub_download(NAME, tmp_path / "models")
    path = tmp_path / "models" / "owner--name" / COMMIT / name
    assert not path.exists()
    del hub.claims[name]
    hub_download(NAME, tmp_path / "models")
    assert path.exists()


@pytest.mark.parametrize("name", [f"asset/{layout.VOCOS}", f"asset/{layout.GPT_CONFIG}"])
def test_file_that_did_not_come_is_named(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    download = huggingface_hub.snapshot_download

    def partly(*arguments: Any, local_dir: Path, **options: Any) -> None:
        download(*arguments, local_dir=local_dir, **options)
        (local_dir / name).unlink()

    monkeypatch.setattr(huggingface_hub, "snapshot_download", partly)
    with pytest.raises(VersionUnavailable, match=f"owner/name: {name} did not come.*run it again"):
        hub_download(NAME, tmp_path / "models")


def test_repository_of_something_else(hub: Hub, tmp_path: Path) -> None:
    (hub.folder / "asset" / layout.EMBED).unlink()
    with pytest.raises(VersionUnavailable, match=r"^owner/name has no asset/Embed.safetensors$"):
        hub_download(NAME, tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_repository_that_does_not_exist(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(VersionUnavailable, match=r"owner/other could not be downloaded: .*40"):
        hub_download(HubId("owner/other"), tmp_path / "models")


def test_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    _point(monkeypatch, f"http://127.0.0.1:{port}")
    with pytest.raises(VersionUnavailable, match=r"could not be downloaded: .*; run it again"):
        hub_download(NAME, tmp_path / "models")
    assert not (tmp_path / "models").exists()
