"""The API keys that schedules were made with."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("assistant", "0039_pending_calls"),
    ]

    operations = [
        migrations.AddField(
            model_name="schedule",
            name="api_key",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                help_text="The member's API key that it was made with, and asks with. Empty: none.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="assistant.apikey",
            ),
        ),
    ]
