import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('assistant', '0002_untrusted_sources'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='apikey',
            name='runs_at_once',
            field=models.PositiveIntegerField(blank=True, help_text='Empty: as many as its member may have.', null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name='run',
            name='api_key',
            field=models.ForeignKey(db_index=False, help_text="The member's API key that it was started with. Empty: none, or an end user's token.", null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='assistant.apikey'),
        ),
        migrations.AddField(
            model_name='tenantlimits',
            name='end_user_messages_per_minute',
            field=models.PositiveBigIntegerField(blank=True, help_text="Empty: the deployment's. 0: no limit.", null=True, verbose_name='messages a minute'),
        ),
        migrations.AddField(
            model_name='tenantlimits',
            name='end_user_runs',
            field=models.PositiveBigIntegerField(blank=True, help_text="Empty: the deployment's. 0: no limit.", null=True, verbose_name='runs at once'),
        ),
        migrations.AddField(
            model_name='tenantlimits',
            name='member_runs',
            field=models.PositiveBigIntegerField(blank=True, help_text="Empty: the deployment's. 0: no limit.", null=True, verbose_name='runs at once'),
        ),
        migrations.AddField(
            model_name='tenantlimits',
            name='tenant_runs',
            field=models.PositiveBigIntegerField(blank=True, help_text="Empty: the deployment's. 0: no limit.", null=True, verbose_name='runs at once'),
        ),
        migrations.AlterField(
            model_name='run',
            name='status',
            field=models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('waiting', 'Waiting for an approval'), ('cancelled', 'Cancelled'), ('failed', 'Failed'), ('interrupted', 'Interrupted')], default='running', max_length=12),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('ended_at', None)), fields=['tenant', 'user'], name='active_runs_of_a_tenant'),
        ),
    ]
