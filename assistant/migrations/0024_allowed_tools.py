"""Names an external server's allowed tools as everything else does."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assistant", "0023_titles_and_sharing")]

    operations = [
        migrations.RenameField("mcptool", "is_let_in", "is_allowed"),
        migrations.AlterField("mcptool", "is_allowed", models.BooleanField(default=False, verbose_name="allowed")),
    ]
