"""Show how traffic is divided."""

import json
from argparse import ArgumentParser
from datetime import datetime

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from models_registry.errors import RegistryError
from models_registry.models import Route
from models_registry.selectors import route_weights, route_weights_at


class Command(BaseCommand):
    """`route_show [MODEL] [--at TIME] [--json]`"""

    help = "Show the split of one route or of all, now or as it was at a time."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """A route, a time, and the form of the output."""
        parser.add_argument("model", metavar="MODEL", nargs="?", help="the route; all without it")
        parser.add_argument("--at", type=_time, help="ISO 8601, UTC where it names no zone")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(
        self, *, model: str | None, at: datetime | None, as_json: bool, **options: object
    ) -> None:
        """Print one line for each version of each route."""
        names = [model] if model else list(Route.objects.values_list("name", flat=True))
        try:
            splits = {
                name: route_weights_at(name, at) if at else route_weights(name) for name in names
            }
        except RegistryError as error:
            raise CommandError(error.message) from error
        if as_json:
            self.stdout.write(json.dumps(splits, indent=2))
            return
        for name, weights in splits.items():
            total = sum(weights.values())
            if not total:
                self.stdout.write(f"{name}: no weights")
            for key, weight in weights.items():
                share = f" ({weight * 100 / total:.4g} %)" if total else ""
                self.stdout.write(f"{name}: {key} {weight}{share}")


def _time(text: str) -> datetime:
    found = parse_datetime(text)
    if found is None:
        raise ValueError(text)
    return timezone.make_aware(found) if timezone.is_naive(found) else found
