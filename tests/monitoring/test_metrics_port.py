"""METRICS_PORT: a port that cannot be had ends the process with words that name it."""

import socket

import pytest
from django.core.exceptions import ImproperlyConfigured

from monitoring.exporter import metrics_serve


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ImproperlyConfigured, match=f"METRICS_PORT is {port}, but must be"):
            metrics_serve(port)


def test_so_is_one_beyond_the_last() -> None:
    with pytest.raises(ImproperlyConfigured, match="METRICS_PORT is 65536, but must be"):
        metrics_serve(65_536)
