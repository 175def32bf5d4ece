"""External MCP servers that may ask people, and what a waiting call keeps of their questions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assistant", "0037_schedule_sources")]

    operations = [
        migrations.AddField(
            "mcpserver",
            "asks_people",
            models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its tools may ask the people who chat, in a form, and it receives their answers (elicitation).",
                verbose_name="may ask people",
            ),
        ),
        migrations.AddField(
            "toolcall",
            "questions",
            models.TextField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="While it waits: its server's questions.",
            ),
        ),
    ]
