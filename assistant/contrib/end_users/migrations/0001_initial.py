import assistant.contrib.end_users.models
import django.db.models.deletion
from assistant.migrations._one_rendering import CreateModels
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('assistant', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='WidgetOrigin',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('origin', models.CharField(help_text='As browsers name it: https://shop.example.com. Every end user of that site may talk to the assistant, with the tools that are on for it.', max_length=255, validators=[assistant.contrib.end_users.models.validate_origin], verbose_name='origin')),
                    ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                    ('assistant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='widget_origins', to='assistant.assistant', verbose_name='assistant')),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='widget_origins', to='assistant.tenant', verbose_name='tenant')),
                ],
                options={
                    'verbose_name': 'widget origin',
                    'verbose_name_plural': 'widget origins',
                    'ordering': ['origin'],
                    'constraints': [models.UniqueConstraint(fields=('tenant', 'assistant', 'origin'), name='one_row_per_origin')],
                },
            ),
            migrations.CreateModel(
                name='EndUser',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('external_id', models.CharField(help_text="The tenant's own id of the end user.", max_length=128, verbose_name='external id')),
                    ('name', models.CharField(blank=True, max_length=200, verbose_name='name')),
                    ('context', models.JSONField(blank=True, default=dict, help_text='Available to tools, never sent to the model.', verbose_name='context')),
                    ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                    ('seen_at', models.DateTimeField(help_text='When the last token was issued.', verbose_name='seen at')),
                    ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='assistant_end_user', to=settings.AUTH_USER_MODEL)),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='end_users', to='assistant.tenant', verbose_name='tenant')),
                ],
                options={
                    'verbose_name': 'end user',
                    'verbose_name_plural': 'end users',
                    'ordering': ['-seen_at'],
                    'constraints': [models.UniqueConstraint(fields=('tenant', 'external_id'), name='one_end_user_per_external_id')],
                },
            ),
        ]),
    ]
