import hashlib
import re

import msgspec
from django.db import migrations

_BUILT_IN = re.compile(r"chattts_([1-8])")


def seeds_store(apps, schema_editor):
    """Keep the built-in speakers as what they were drawn from: every version draws its own."""
    voices = apps.get_model("tts", "Voice").objects.using(schema_editor.connection.alias)
    for voice in voices.filter(tenant_id__isnull=True, engine="chattts", origin="seed"):
        found = _BUILT_IN.fullmatch(voice.name)
        if found:
            voice.payload = msgspec.msgpack.encode({"type": "seed", "number": int(found[1])})
            voice.digest = hashlib.sha256(voice.payload).hexdigest()
            voice.save(update_fields=["payload", "digest"])


class Migration(migrations.Migration):

    dependencies = [
        ('tts', '0003_voice_consent_recorded_by'),
    ]

    operations = [
        # An older release draws them anew when it imports a checkpoint again.
        migrations.RunPython(seeds_store, migrations.RunPython.noop),
    ]
