"""The tier of a route by its id takes the place of its name."""

from django.db import migrations


class Migration(migrations.Migration):
    """Schema only."""

    dependencies = [("models_registry", "0003_route_tier_by_id")]

    operations = [
        migrations.RemoveField(model_name="route", name="default_tier"),
        migrations.RenameField(model_name="route", old_name="tier", new_name="default_tier"),
    ]
