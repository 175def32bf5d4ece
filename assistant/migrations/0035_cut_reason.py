"""Keeps why an answer was cut off."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assistant", "0033_trace_context")]

    operations = [
        migrations.AddField(
            "message",
            "cut_reason",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="Why a partial answer was cut off: length, content_filter or invalid_form. Empty: see its run.",
                max_length=20,
            ),
        ),
    ]
