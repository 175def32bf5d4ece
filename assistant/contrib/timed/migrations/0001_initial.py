import assistant.models.tenants
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
                name='Alarm',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveIntegerField(editable=False)),
                    ('at', models.DateTimeField(verbose_name='at')),
                    ('label', models.CharField(blank=True, max_length=200, verbose_name='label')),
                    ('state', models.CharField(choices=[('set', 'Set'), ('ringing', 'Ringing'), ('done', 'Done'), ('cancelled', 'Cancelled')], default='set', max_length=10, verbose_name='state')),
                    ('idempotency_key', models.CharField(blank=True, editable=False, help_text='The idempotency key of the tool call that set it.', max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.tenant', verbose_name='tenant')),
                    ('sources', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False, help_text='Where the untrusted text came from that the model had read when it wrote the label.')),
                    ('mail_tries', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
                    ('rang_at', models.DateTimeField(editable=False, null=True, verbose_name='rang')),
                    ('rings', models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text='How often it has rung; again after each snooze.', verbose_name='rings')),
                    ('seen_at', models.DateTimeField(editable=False, help_text='When a chat or widget of the person has shown that it rings.', null=True, verbose_name='shown')),
                    ('told_at', models.DateTimeField(editable=False, help_text='When no chat showed it, and e-mail or webhooks told it.', null=True, verbose_name='told elsewhere')),
                ],
                options={
                    'verbose_name': 'alarm',
                    'verbose_name_plural': 'alarms',
                    'ordering': ['at', 'id'],
                    'indexes': [models.Index(condition=models.Q(('state', 'ringing')), fields=['tenant', 'user'], name='ringing_alarms')],
                    'constraints': [models.UniqueConstraint(fields=('tenant', 'user', 'number'), name='one_alarm_per_number'), models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('tenant', 'user', 'idempotency_key'), name='one_alarm_per_call')],
                },
            ),
            migrations.CreateModel(
                name='Schedule',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100, verbose_name='name')),
                    ('prompt', models.TextField(max_length=4000, verbose_name='question')),
                    ('cron', models.CharField(blank=True, help_text='Such as 0 9 * * 1: Mondays at 9. Empty: once.', max_length=100, verbose_name='cron line')),
                    ('at', models.DateTimeField(blank=True, help_text='Of one that is asked once.', null=True, verbose_name='moment')),
                    ('timezone', models.CharField(max_length=64, validators=[assistant.models.tenants.validate_timezone], verbose_name='time zone')),
                    ('ends_at', models.DateTimeField(blank=True, help_text='Required with a cron line.', null=True, verbose_name='end')),
                    ('budget', models.PositiveBigIntegerField(blank=True, help_text='What all its answers may cost together, in millionths of the currency.', null=True, verbose_name='budget')),
                    ('missed', models.CharField(choices=[('run', 'Ask once, late'), ('skip', 'Skip')], db_default='run', default='run', max_length=4, verbose_name='if missed')),
                    ('delivery', models.CharField(choices=[('conversation', 'A conversation'), ('email', 'A conversation, and an e-mail'), ('webhook', 'A conversation, and the event schedule.finished')], db_default='conversation', default='conversation', max_length=12, verbose_name='delivery')),
                    ('state', models.CharField(choices=[('on', 'On'), ('paused', 'Paused'), ('stopped', 'Stopped'), ('done', 'Over')], db_default='on', default='on', max_length=7, verbose_name='state')),
                    ('reason', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='why it has stopped')),
                    ('next_at', models.DateTimeField(editable=False, null=True, verbose_name='next')),
                    ('idempotency_key', models.CharField(blank=True, db_default='', default='', editable=False, help_text='The idempotency key of the tool call that made it.', max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('assistant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.assistant', verbose_name='assistant')),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.tenant', verbose_name='tenant')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                    ('sources', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False, help_text='Where the untrusted text came from that the model had read when it wrote the question.')),
                    ('api_key', models.ForeignKey(db_index=False, editable=False, help_text="The member's API key that it was made with, and asks with. Empty: none.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.apikey')),
                ],
                options={
                    'verbose_name': 'schedule',
                    'verbose_name_plural': 'schedules',
                    'ordering': ['-pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('tenant', 'user', 'idempotency_key'), name='one_schedule_per_call')],
                },
            ),
            migrations.CreateModel(
                name='ScheduleRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('due_at', models.DateTimeField(verbose_name='due')),
                    ('state', models.CharField(choices=[('running', 'Under way'), ('finished', 'Answered'), ('failed', 'Failed'), ('skipped', 'Skipped')], default='running', max_length=8, verbose_name='state')),
                    ('conversation_id', models.UUIDField(help_text='Where it was asked; its member may have deleted it since.', null=True)),
                    ('run_id', models.CharField(blank=True, max_length=200, verbose_name='run id')),
                    ('problem', models.CharField(blank=True, max_length=300, verbose_name='problem')),
                    ('cost', models.PositiveBigIntegerField(db_default=0, default=0, help_text='In millionths of the currency.', verbose_name='cost')),
                    ('mail_tries', models.PositiveSmallIntegerField(db_default=0, default=0)),
                    ('delivered_at', models.DateTimeField(help_text='When its e-mail was sent.', null=True, verbose_name='delivered at')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('ended_at', models.DateTimeField(null=True, verbose_name='ended at')),
                    ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='assistant_timed.schedule')),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.tenant')),
                ],
                options={
                    'verbose_name': 'schedule run',
                    'verbose_name_plural': 'schedule runs',
                    'ordering': ['-due_at', '-pk'],
                    'constraints': [models.UniqueConstraint(fields=('schedule', 'due_at'), name='one_run_per_due_moment')],
                },
            ),
            migrations.CreateModel(
                name='TenantAlarms',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('are_mailed', models.BooleanField(default=True, help_text='To members with no chat open, unless they have switched it off. Webhooks get alarm.unseen.', verbose_name='alarms by e-mail')),
                    ('tenant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='alarms', to='assistant.tenant')),
                ],
                options={
                    'verbose_name': 'alarms of a tenant',
                    'verbose_name_plural': 'alarms of tenants',
                },
            ),
            migrations.CreateModel(
                name='PersonAlarms',
                fields=[
                    ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                    ('are_mailed', models.BooleanField(default=True, verbose_name='alarms by e-mail, when no chat is open')),
                ],
                options={
                    'verbose_name': 'alarms of a person',
                    'verbose_name_plural': 'alarms of people',
                },
            ),
        ]),
    ]
