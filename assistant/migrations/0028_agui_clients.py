"""AG-UI clients: their own names of threads and runs, busy threads, lost connections, context of pages."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("assistant", "0027_cited_passages"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="assistant",
            name="on_disconnect",
            field=models.CharField(
                choices=[("continue", "It goes on"), ("cancel", "It is stopped")],
                db_default="continue",
                default="continue",
                help_text="What happens to an answer whose client has disconnected, unless the client says it.",
                max_length=8,
                verbose_name="after a lost connection",
            ),
        ),
        migrations.AddField(
            model_name="assistant",
            name="takes_context",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="The model reads what AG-UI's clients send as context and state, marked as data of the page.",
                verbose_name="context of the page",
            ),
        ),
        migrations.AddField(
            model_name="assistant",
            name="when_busy",
            field=models.CharField(
                blank=True,
                choices=[
                    ("refuse", "Refused"),
                    ("queue", "Waits for the answer"),
                    ("replace", "Stops the answer and takes its place"),
                ],
                db_default="",
                default="",
                help_text="What happens to a message that comes while another one is being answered, unless the client says it. Empty: it takes the place of the same caller's in AG-UI over HTTP, and is refused elsewhere.",
                max_length=7,
                verbose_name="a message during an answer",
            ),
        ),
        migrations.AddField(
            model_name="conversation",
            name="thread_key",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="AG-UI's threadId, if its client uses another one than `id`.",
                max_length=200,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="answers",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The digest of the answers to interrupts that it began with. Empty: it began with none.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="continues",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The id under which its client knows it, if that names the run whose interrupts it answers as well.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="incident",
            name="run_id",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AlterField(
            model_name="run",
            name="follows",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The id of the run that its client says it follows.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="run_id",
            field=models.CharField(help_text="The client's id of it; unique within its conversation.", max_length=200),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("thread_key", ""), _negated=True),
                fields=("tenant", "assistant", "user", "thread_key"),
                name="one_conversation_per_thread_key",
            ),
        ),
    ]
