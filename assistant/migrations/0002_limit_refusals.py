"""When limits first refused something in their current window."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assistant", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="quotause",
            name="refused_at",
            field=models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict),
        )
    ]
