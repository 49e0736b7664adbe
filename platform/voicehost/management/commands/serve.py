"""`manage.py serve`: every process of one machine under one supervisor."""

import asyncio
import os
import signal
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from voicehost.banner import banner
from voicehost.state import files_private, state_folder_is_open, state_folder_make
from voicehost.supervisor.errors import SupervisorError
from voicehost.supervisor.supervisor import Supervisor

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    """Start Redis (unless REDIS_URL is given), workers, Celery, beat and web."""

    help = "Run the whole platform on this machine; Ctrl-C stops it in order."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until SIGINT or SIGTERM."""
        given = settings.ENVIRONMENT.redis_given
        if not given and not settings.EMBEDDED_REDIS_ALLOWED:
            raise CommandError("Production needs a Redis server of its own: set REDIS_URL.")
        try:
            with files_private():
                self._state_prepare()
                asyncio.run(self._serve(given))
        except SupervisorError as error:
            raise CommandError(str(error)) from error

    def _state_prepare(self) -> None:
        if os.geteuid() == 0:
            log.warning("running_as_root", advice="a user of its own, see docs/operations.md")
        var_dir = settings.ENVIRONMENT.var_dir
        state_folder_make(var_dir)
        if state_folder_is_open(var_dir):
            # Whoever made it may share it on purpose; what is made in it is private anyway.
            log.warning("state_folder_open_to_others", folder=str(var_dir), close_with="chmod 700")

    async def _serve(self, given_redis_url: str) -> None:
        stop, ready = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        supervisor = Supervisor(settings.ENVIRONMENT, given_redis_url=given_redis_url)
        tell = asyncio.create_task(self._tell(ready))
        try:
            await supervisor.run(stop, ready)
        finally:
            # Who stops the platform while it starts does not wait for it to get ready.
            tell.cancel()

    async def _tell(self, ready: asyncio.Event) -> None:
        """Print the addresses once the processes run and can speak."""
        await ready.wait()
        self.stdout.write(await banner(settings.ENVIRONMENT, settings.ALLOWED_HOSTS))
        # Into a file or a pipe it would otherwise come when the platform stops.
        self.stdout.flush()
