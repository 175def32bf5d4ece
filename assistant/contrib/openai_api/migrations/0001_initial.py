import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('assistant', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='StoredResponse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('echo', models.JSONField(help_text='What every answer repeats of the request.')),
                ('inputs', models.PositiveIntegerField(help_text='How many messages of the run are its input. Empty: it is in a conversation.', null=True)),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='stored_response', to='assistant.run')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.tenant')),
            ],
            options={
                'verbose_name': 'stored response',
                'verbose_name_plural': 'stored responses',
            },
        ),
    ]
