import assistant.models.fields
import django.db.models.deletion
from assistant.migrations._one_rendering import CreateModels
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('assistant', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Webhook',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100, verbose_name='name')),
                    ('url', models.URLField(max_length=500, verbose_name='URL')),
                    ('events', models.JSONField(default=list, verbose_name='events')),
                    ('is_active', models.BooleanField(default=True, verbose_name='active')),
                    ('secret', assistant.models.fields.EncryptedTextField(editable=False)),
                    ('previous_secret', assistant.models.fields.EncryptedTextField(blank=True, editable=False)),
                    ('previous_secret_until', models.DateTimeField(editable=False, help_text='Until then messages are signed with both secrets.', null=True)),
                    ('failing_since', models.DateTimeField(editable=False, help_text='Time of the first failure since the last success.', null=True)),
                    ('disabled_at', models.DateTimeField(editable=False, help_text='When it was switched off because of failures.', null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='assistant.tenant', verbose_name='tenant')),
                ],
                options={
                    'verbose_name': 'webhook',
                    'verbose_name_plural': 'webhooks',
                    'ordering': ['tenant', 'name'],
                    'constraints': [models.UniqueConstraint(fields=('tenant', 'name'), name='webhook_name_per_tenant')],
                },
            ),
            migrations.CreateModel(
                name='WebhookDelivery',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('message_id', models.CharField(help_text='The same for every attempt, so that receivers can detect repeats.', max_length=64, verbose_name='message id')),
                    ('event', models.CharField(max_length=40, verbose_name='event')),
                    ('body', models.TextField(help_text='The exact text that is sent and signed.')),
                    ('status', models.CharField(choices=[('pending', 'On its way'), ('delivered', 'Delivered'), ('failed', 'Given up')], default='pending', max_length=10, verbose_name='status')),
                    ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                    ('next_try_at', models.DateTimeField(null=True, verbose_name='next try at')),
                    ('claim', models.CharField(blank=True, editable=False, max_length=32)),
                    ('response_code', models.PositiveSmallIntegerField(null=True, verbose_name='response code')),
                    ('error', models.CharField(blank=True, max_length=300, verbose_name='error')),
                    ('duration_ms', models.PositiveIntegerField(null=True, verbose_name='duration ms')),
                    ('tried_at', models.DateTimeField(null=True, verbose_name='tried at')),
                    ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhook_deliveries', to='assistant.tenant', verbose_name='tenant')),
                    ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='assistant_webhooks.webhook', verbose_name='webhook')),
                    ('trace_parent', models.CharField(blank=True, db_default='', default='', editable=False, help_text='The span that it reports of, as a W3C traceparent header.', max_length=55)),
                ],
                options={
                    'verbose_name': 'webhook delivery',
                    'verbose_name_plural': 'webhook deliveries',
                    'ordering': ['-created_at', '-pk'],
                    'indexes': [models.Index(condition=models.Q(('status', 'pending')), fields=['webhook', 'next_try_at'], name='pending_deliveries'), models.Index(fields=['tenant', '-created_at'], name='deliveries_of_a_tenant'), models.Index(fields=['created_at'], name='deliveries_by_age')],
                    'constraints': [models.UniqueConstraint(fields=('webhook', 'message_id'), name='one_delivery_per_message')],
                },
            ),
        ]),
    ]
