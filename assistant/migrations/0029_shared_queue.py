"""Lets any process start queued runs, in turns between tenants."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assistant", "0028_agui_clients")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="is_shared",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name="tenantlimits",
            name="tenant_turns",
            field=models.PositiveBigIntegerField(
                blank=True,
                help_text="How many of its queued runs start for one of another tenant. Empty: 1.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(100),
                ],
                verbose_name="turns in the queue",
            ),
        ),
    ]
