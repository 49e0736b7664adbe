"""Set how a route's traffic is divided."""

from argparse import ArgumentParser

from django.core.management.base import CommandError

from coordination.command import AuditedCommand
from models_registry.errors import RegistryError
from models_registry.models import ModelVersion, RouteWeight
from models_registry.services import route_set_or_create


class Command(AuditedCommand):
    """`route_set tts-1 kokoro@1.0=90 kokoro@1.1=10`"""

    help = (
        "Divide a route's traffic; a name that has no route yet gets one. VERSION is "
        "model@version, or a version alone where the route's model is plain. Weights are "
        "relative, 0 to 10000; versions left out get none."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The route, its weights, and a note for the history."""
        parser.add_argument("model", metavar="MODEL", help="the route, such as tts-1")
        parser.add_argument("weights", metavar="VERSION=WEIGHT", nargs="+")
        parser.add_argument("--note", default="", help="why, for the history")

    def handle(self, *, model: str, weights: list[str], note: str, **options: object) -> None:
        """Set the split and print it."""
        wanted = dict(self._parsed(model, item) for item in weights)
        if len(wanted) != len(weights):
            raise CommandError("a version is named twice")
        try:
            event, is_new = route_set_or_create(model, wanted, self.actor, note)
        except RegistryError as error:
            raise CommandError(error.message) from error
        if is_new:
            self.stdout.write(f"{model}: a new route, public, without a quality tier")
        total = sum(event.after.values())
        for key, weight in event.after.items():
            self.stdout.write(f"{model}: {key} {weight} ({weight * 100 / total:.4g} %)")

    def _parsed(self, route: str, item: str) -> tuple[str, int]:
        name, separator, weight = item.rpartition("=")
        if not separator or not name or not (weight.isascii() and weight.isdigit()):
            raise CommandError(
                f"'{item}' is not VERSION=WEIGHT with a whole number of 0 to 10000, "
                "for example kokoro@1.0=90"
            )
        return (name if "@" in name else _key(route, name)), int(weight)


def _key(route: str, label: str) -> str:
    """The key of a version named by its label alone; raises CommandError when it is not plain."""
    models = set(
        RouteWeight.objects.filter(route__name=route).values_list("version__model__name", flat=True)
    )
    if len(models) == 1:
        return f"{models.pop()}@{label}"
    keys = list(ModelVersion.objects.filter(label=label).values_list("key", flat=True))
    if len(keys) == 1 and not models:
        return keys[0]
    known = ", ".join(keys or ModelVersion.objects.values_list("key", flat=True)) or "none"
    raise CommandError(f"version '{label}' needs its model, as model@version; known: {known}")
