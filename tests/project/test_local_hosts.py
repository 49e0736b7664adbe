"""An installation for one machine answers to its names and addresses, and to no others."""

import socket

import pytest

from voicehost.hosts import LocalHosts, host_answered

LOCAL = ["localhost", "LOCALHOST:8000", "app.localhost", "127.0.0.1:8000", "127.1.2.3", "[::1]"]
FOREIGN = [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8000",
    "notlocalhost", "", "a b", "[::1", "::1]", "*", ".", "localhost,evil.example", "0x7f000001",
    "2130706433", "169.254.169.254.nip.io",
]  # fmt: skip
ADDRESSES = ["192.168.1.5:8000", "10.0.0.1", "[fe80::1]:8000", "[2001:db8::1]", "169.254.169.254"]


@pytest.mark.parametrize("host", LOCAL)
@pytest.mark.parametrize("listening", ["127.0.0.1", "localhost", "192.168.1.9", "0.0.0.0", "::"])
def test_loopback_is_always_answered(listening: str, host: str) -> None:
    assert LocalHosts.of(listening).includes(host)


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("listening", ["127.0.0.1", "0.0.0.0", "::"])
def test_foreign_names_are_refused(listening: str, host: str) -> None:
    assert not LocalHosts.of(listening).includes(host)


@pytest.mark.parametrize("host", ADDRESSES)
def test_addresses_are_answered_where_every_interface_is_served(host: str) -> None:
    assert LocalHosts.of("0.0.0.0").includes(host)
    assert LocalHosts.of("::").includes(host)
    assert not LocalHosts.of("127.0.0.1").includes(host)


def test_own_name_is_answered_where_every_interface_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Box")
    assert LocalHosts.of("0.0.0.0").includes("box:8000")
    assert LocalHosts.of("0.0.0.0").includes("box.local")
    assert not LocalHosts.of("127.0.0.1").includes("box")


def test_host_that_it_listens_on_is_answered() -> None:
    assert LocalHosts.of("192.168.1.9").includes("192.168.1.9:8000")
    assert not LocalHosts.of("192.168.1.9").includes("192.168.1.8")
    assert LocalHosts.of("2001:db8::1").includes("[2001:db8::1]:8000")
    assert LocalHosts.of("Box.lan").includes("box.lan")


def test_others_may_be_allowed() -> None:
    hosts = LocalHosts.of("127.0.0.1", ["Speech.example", ".app.example"])
    assert hosts.includes("speech.example:443")
    assert hosts.includes("a.app.example")
    assert not hosts.includes("a.speech.example")
    assert LocalHosts.of("127.0.0.1", ["*"]).includes("anything.example")


@pytest.mark.parametrize(
    ("address", "allowed", "answered"),
    [
        ("127.0.0.1", ["*"], "127.0.0.1"),
        ("::1", ["*"], "[::1]"),
        ("127.0.0.1", ["speech.example", "127.0.0.1"], "127.0.0.1"),
        ("127.0.0.1", ["speech.example", "b.example"], "speech.example"),
        ("127.0.0.1", [".speech.example"], "speech.example"),
    ],
)
def test_host_to_ask_for(address: str, allowed: list[str], answered: str) -> None:
    assert host_answered(address, allowed) == answered
