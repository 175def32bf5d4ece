"""Keeps the passages of attached documents that an answer stands on, and takes presentations."""

from django.db import migrations, models

import assistant.models.limits


class Migration(migrations.Migration):
    dependencies = [("assistant", "0026_welcome")]

    operations = [
        migrations.AddField(
            "run",
            "passages",
            models.JSONField(
                editable=False,
                help_text="Passages of attached documents that its answer stands on. Empty: none.",
                null=True,
            ),
        ),
        migrations.AlterField(
            "attachment",
            "kind",
            models.CharField(
                choices=[
                    ("image", "Image"),
                    ("pdf", "PDF"),
                    ("docx", "Word document"),
                    ("xlsx", "Spreadsheet"),
                    ("pptx", "Presentation"),
                    ("text", "Text"),
                ],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            "tenantlimits",
            "attachment_kinds",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of image, pdf, docx, xlsx, pptx and text. Empty: the deployment's. none: nobody can attach "
                "files.",
                max_length=100,
                validators=[assistant.models.limits.validate_kinds],
                verbose_name="kinds of attached files",
            ),
        ),
    ]
