"""The tier of a route by its id: a tier that is renamed stays the route's."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models


def ids_fill(apps: Apps, schema_editor: object) -> None:
    """A name that no tier has any more meant the key's own tier, and none means so now."""
    tiers = dict(apps.get_model("tenants", "QualityTier").objects.values_list("name", "pk"))
    for route in apps.get_model("models_registry", "Route").objects.exclude(default_tier=""):
        route.tier_id = tiers.get(route.default_tier)
        route.save(update_fields=["tier"])


def names_fill(apps: Apps, schema_editor: object) -> None:
    """Back to the names."""
    routes = apps.get_model("models_registry", "Route").objects.exclude(tier=None)
    for route in routes.select_related("tier"):
        route.default_tier = route.tier.name
        route.save(update_fields=["default_tier"])


class Migration(migrations.Migration):
    """The old field goes in the next one: PostgreSQL changes no table with rows under way."""

    dependencies = [
        ("models_registry", "0002_profile_checks"),
        ("tenants", "0002_seed_tiers"),
    ]

    operations = [
        migrations.AddField(
            model_name="route",
            name="tier",
            field=models.ForeignKey(
                null=True,
                blank=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="routes",
                to="tenants.qualitytier",
                help_text="The quality tier of requests that name none; empty: the key's own.",
            ),
        ),
        migrations.RunPython(ids_fill, names_fill),
    ]
