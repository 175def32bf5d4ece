"""Tool calls whose result comes later, from outside."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("assistant", "0038_questions_of_servers"),
    ]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="status",
            field=models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("finished", "Finished"),
                    ("waiting", "Waiting"),
                    ("cancelled", "Cancelled"),
                    ("failed", "Failed"),
                    ("interrupted", "Interrupted"),
                ],
                default="running",
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="toolcall",
            name="status",
            field=models.CharField(
                choices=[
                    ("running", "Running"),
                    ("ok", "Done"),
                    ("error", "Failed"),
                    ("timeout", "Timed out"),
                    ("refused", "Refused"),
                    ("cancelled", "Cancelled"),
                    ("awaiting_approval", "Awaiting approval"),
                    ("approved", "Approved, not started"),
                    ("declined", "Declined"),
                    ("pending", "Waits for its result"),
                    ("expired", "Expired"),
                    ("interrupted", "Interrupted"),
                ],
                default="running",
                max_length=20,
            ),
        ),
        migrations.CreateModel(
            name="PendingCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hashed", models.CharField(editable=False, max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("begun", "Its tool runs"),
                            ("waiting", "Waiting"),
                            ("answered", "Answered"),
                            ("expired", "Nothing came"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="begun",
                        max_length=9,
                    ),
                ),
                ("until", models.DateTimeField(null=True)),
                (
                    "note",
                    models.CharField(blank=True, help_text="What is waited for, as the tool says.", max_length=200),
                ),
                (
                    "is_trusted",
                    models.BooleanField(default=False, help_text="What comes counts as the tool's own words."),
                ),
                ("result", models.TextField(blank=True, help_text="What has come.")),
                ("is_error", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "call",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pending", to="assistant.toolcall"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        help_text="The run that ended with it, or that has taken what came.",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pending_calls",
                        to="assistant.run",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pending_calls", to="assistant.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name": "pending call",
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "hashed"), name="one_pending_call_per_token")
                ],
            },
        ),
    ]
