"""Responses: what their callers asked for, and the files that they upload."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("assistant", "0031_timed_work"),
    ]

    operations = [
        migrations.AddField(
            model_name='attachment',
            name='api_key',
            field=models.ForeignKey(editable=False, help_text='The key that it was uploaded with at the Files API.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='assistant.apikey'),
        ),
        migrations.AddField(
            model_name='attachment',
            name='purpose',
            field=models.CharField(blank=True, db_default='', default='', editable=False, help_text='What for, as its uploader at the Files API said. Empty: it was uploaded another way.', max_length=20),
        ),
        migrations.AddField(
            model_name='run',
            name='response',
            field=models.JSONField(editable=False, help_text='What its caller asked for at the Responses API, as it is given back. Empty: it came another way.', null=True),
        ),
    ]
