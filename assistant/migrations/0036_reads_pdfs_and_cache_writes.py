"""PDFs as files for models that read them, and prices and counts of what providers write to caches."""

import django.core.validators
from decimal import Decimal
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("assistant", "0035_cut_reason"),
    ]

    operations = [
        migrations.AddField(
            model_name="modelprice",
            name="cache_write",
            field=models.DecimalField(
                blank=True,
                decimal_places=6,
                help_text="A million input tokens that the provider writes to a cache. Empty: 1.25 times other input.",
                max_digits=14,
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(Decimal("0")),
                    django.core.validators.MaxValueValidator(Decimal("1000000")),
                ],
                verbose_name="cache writes",
            ),
        ),
        migrations.AddField(
            model_name="provider",
            name="reads_pdfs",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Send PDFs that people attach as files, which the model reads with their pictures. Otherwise it gets their text.",
                verbose_name="reads PDFs",
            ),
        ),
        migrations.AddField(
            model_name="usageentry",
            name="cache_write_tokens",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Of the input tokens, those that the provider wrote to a cache."
            ),
        ),
        migrations.AlterField(
            model_name="provider",
            name="prices",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text='What a million tokens cost, by the model\'s name or its beginning: {"gpt-4.1": {"input": 2, "output": 8, "cached_input": 0.5}}; also "cache_write". Empty: costs are not computed.',
            ),
        ),
    ]
