"""The three quality tiers that every installation starts with."""

from typing import Any

from django.db import migrations

TIERS: dict[str, dict[str, Any]] = {
    "realtime": {
        "rank": 10,
        "priority": "realtime",
        "profile": "realtime",
        "concurrency": 20,
        "requests_per_minute": 600,
        "characters_per_minute": 120_000,
        "max_characters": 5_000,
        "max_queue_seconds": 10.0,
    },
    "standard": {
        "rank": 20,
        "priority": "standard",
        "profile": "standard",
        "concurrency": 10,
        "requests_per_minute": 300,
        "characters_per_minute": 120_000,
        "max_characters": 5_000,
        "max_queue_seconds": 20.0,
    },
    "hq": {
        "rank": 30,
        "priority": "standard",
        "profile": "hq",
        "concurrency": 4,
        "requests_per_minute": 60,
        "characters_per_minute": 60_000,
        "max_characters": 20_000,
        "max_queue_seconds": 60.0,
    },
}


def tiers_seed(apps: Any, schema_editor: Any) -> None:
    """Create the tiers that are missing; those that an operator changed stay as they are."""
    tier = apps.get_model("tenants", "QualityTier")
    for name, values in TIERS.items():
        tier.objects.get_or_create(name=name, defaults=values)


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_initial")]
    operations = [migrations.RunPython(tiers_seed, migrations.RunPython.noop, elidable=False)]
