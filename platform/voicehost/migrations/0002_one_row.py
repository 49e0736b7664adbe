"""The one row exists from the start, so that looking at it writes nothing."""

from django.db import migrations


def make(apps, schema_editor):
    apps.get_model("voicehost", "PlatformSettings").objects.get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("voicehost", "0001_platform_settings")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
