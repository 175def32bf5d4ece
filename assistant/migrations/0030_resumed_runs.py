"""Runs that go on in another process: what their clients gave, when they were resumed, and superseded messages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assistant", "0029_shared_queue")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="is_superseded",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text=(
                    "Of a step that was cut when its process died, and repeated in later messages. "
                    "No model is sent it."
                ),
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="client_input",
            field=models.JSONField(
                editable=False, help_text="While it runs: what its client gave with it.", null=True
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="resumes",
            field=models.JSONField(
                blank=True,
                db_default=models.Value([], models.JSONField()),
                default=list,
                editable=False,
                help_text="When other processes went on with it: time, step, if handed over.",
            ),
        ),
    ]
