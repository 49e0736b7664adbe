"""`manage.py run_web`: one web process."""

import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from monitoring.exporter import MetricsPortUnusable, metrics_serve
from voicehost.server.config import WebConfig
from voicehost.server.listener import AddressUnusable, listener_open


class Command(BaseCommand):
    """Serves HTTP and WebSocket until SIGTERM, then lets running streams finish."""

    help = "Serve the API, the admin and the studio."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen."""
        environment = settings.ENVIRONMENT
        parser.add_argument("--host", default=environment.host)
        parser.add_argument("--port", type=int, default=environment.port)
        parser.add_argument("--fd", type=int, help="an inherited listening socket")
        parser.add_argument(
            "--server", choices=["daphne", "uvicorn"], default=environment.asgi_server
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve."""
        try:
            metrics_serve(settings.ENVIRONMENT.metrics_port)
            fd = options["fd"]
            if fd is None:
                fd = listener_open(options["host"], options["port"]).detach()
            config = WebConfig(fd=fd, grace_seconds=settings.ENVIRONMENT.grace_seconds)
        except (MetricsPortUnusable, AddressUnusable, ValueError) as error:
            raise CommandError(str(error)) from error
        run = _run_uvicorn if options["server"] == "uvicorn" else _run_daphne
        try:
            run(config)
        except OSError as error:
            raise CommandError(f"cannot listen: {error}") from error


def _run_daphne(config: WebConfig) -> None:
    from tts.runtime import runtime_cut, runtime_drain, runtime_get, runtime_stop
    from voicehost.asgi import application
    from voicehost.server.server import WebServer

    server = WebServer(
        application,
        config,
        on_start=runtime_get,
        on_drain=runtime_drain,
        on_cut=runtime_cut,
        on_stop=runtime_stop,
    )
    server.run()


def _run_uvicorn(config: WebConfig) -> None:
    try:
        from voicehost.server.draining import DrainingServer
    except ImportError as error:
        raise CommandError("uvicorn is not installed; use --server daphne") from error
    from tts.runtime import runtime_cut, runtime_drain
    from voicehost.asgi import application

    server = DrainingServer(application, config, on_drain=runtime_drain, on_cut=runtime_cut)
    # Handed over, not named by number: uvicorn closes it when it stops listening.
    server.run(sockets=[socket.socket(fileno=config.fd)])
