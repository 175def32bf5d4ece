"""The traces that webhooks' events belong to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assistant", "0032_responses_and_files")]

    operations = [
        migrations.AddField(
            model_name="webhookdelivery",
            name="trace_parent",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The span that it reports of, as a W3C traceparent header.",
                max_length=55,
            ),
        ),
    ]
