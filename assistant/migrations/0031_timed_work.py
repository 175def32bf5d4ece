"""Work at moments: alarms that ring, and schedules."""

import assistant.models.tenants
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


def schedule_rings(apps, schema_editor):
    """Have the alarms ring that were set before alarms did. Those that are past stay silent."""
    alarms = apps.get_model("assistant", "Alarm").objects.filter(state="set", at__gt=timezone.now())
    jobs = apps.get_model("assistant", "Job").objects
    rows = alarms.values_list("pk", "tenant_id", "user_id", "at")
    for pk, tenant_id, user_id, at in rows.iterator(chunk_size=500):
        jobs.create(tenant_id=tenant_id, name="alarm.ring", key=str(pk), due_at=at, created_by_id=user_id)


class Migration(migrations.Migration):

    dependencies = [
        ("assistant", "0030_resumed_runs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="alarm",
            name="mail_tries",
            field=models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="alarm",
            name="rang_at",
            field=models.DateTimeField(editable=False, null=True, verbose_name="rang"),
        ),
        migrations.AddField(
            model_name="alarm",
            name="rings",
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text="How often it has rung; again after each snooze."),
        ),
        migrations.AddField(
            model_name="alarm",
            name="seen_at",
            field=models.DateTimeField(editable=False, help_text="When a chat or widget of the person has shown that it rings.", null=True, verbose_name="shown"),
        ),
        migrations.AddField(
            model_name="alarm",
            name="told_at",
            field=models.DateTimeField(editable=False, help_text="When no chat showed it, and e-mail or webhooks told it.", null=True, verbose_name="told elsewhere"),
        ),
        migrations.AddField(
            model_name="personsettings",
            name="alarm_mails",
            field=models.BooleanField(db_default=True, default=True, verbose_name="alarms by e-mail, when no chat is open"),
        ),
        migrations.AddField(
            model_name="tenant",
            name="alarm_mails",
            field=models.BooleanField(db_default=True, default=True, help_text="To members with no chat open, unless they have switched it off. Webhooks get alarm.unseen.", verbose_name="alarms by e-mail"),
        ),
        migrations.AlterField(
            model_name="alarm",
            name="state",
            field=models.CharField(choices=[("set", "Set"), ("ringing", "Ringing"), ("done", "Done"), ("cancelled", "Cancelled")], default="set", max_length=10),
        ),
        migrations.AddIndex(
            model_name="alarm",
            index=models.Index(condition=models.Q(("state", "ringing")), fields=["tenant", "user"], name="ringing_alarms"),
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
                ('budget', models.PositiveBigIntegerField(blank=True, help_text='What all its answers may cost together, in millionths of the currency.', null=True)),
                ('missed', models.CharField(choices=[('run', 'Ask once, late'), ('skip', 'Skip')], db_default='run', default='run', max_length=4, verbose_name='if missed')),
                ('delivery', models.CharField(choices=[('conversation', 'A conversation'), ('email', 'A conversation, and an e-mail'), ('webhook', 'A conversation, and the event schedule.finished')], db_default='conversation', default='conversation', max_length=12, verbose_name='delivery')),
                ('state', models.CharField(choices=[('on', 'On'), ('paused', 'Paused'), ('stopped', 'Stopped'), ('done', 'Over')], db_default='on', default='on', max_length=7, verbose_name='state')),
                ('reason', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='why it has stopped')),
                ('next_at', models.DateTimeField(editable=False, null=True, verbose_name='next')),
                ('idempotency_key', models.CharField(blank=True, db_default='', default='', editable=False, help_text='The idempotency key of the tool call that made it.', max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('assistant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='assistant.assistant')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='assistant.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='ScheduleRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(verbose_name='due')),
                ('state', models.CharField(choices=[('running', 'Under way'), ('finished', 'Answered'), ('failed', 'Failed'), ('skipped', 'Skipped')], default='running', max_length=8)),
                ('conversation_id', models.UUIDField(help_text='Where it was asked; its member may have deleted it since.', null=True)),
                ('run_id', models.CharField(blank=True, max_length=200)),
                ('problem', models.CharField(blank=True, max_length=300)),
                ('cost', models.PositiveBigIntegerField(db_default=0, default=0, help_text='In millionths of the currency.')),
                ('mail_tries', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('delivered_at', models.DateTimeField(help_text='When its e-mail was sent.', null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='assistant.schedule')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedule_runs', to='assistant.tenant')),
            ],
            options={
                'ordering': ['-due_at', '-pk'],
            },
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('tenant', 'user', 'idempotency_key'), name='one_schedule_per_call'),
        ),
        migrations.AddConstraint(
            model_name='schedulerun',
            constraint=models.UniqueConstraint(fields=('schedule', 'due_at'), name='one_run_per_due_moment'),
        ),
        migrations.RunPython(schedule_rings, migrations.RunPython.noop, elidable=True),
    ]
