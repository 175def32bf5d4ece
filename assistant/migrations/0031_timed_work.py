"""Work at moments: alarms that ring."""

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
        ("assistant", "0028_agui_clients"),
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
            field=models.BooleanField(db_default=True, default=True, help_text="To members with no chat open, unless they have switched it off. Webhooks get alarm.unseen anyway.", verbose_name="alarms by e-mail"),
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
        migrations.RunPython(schedule_rings, migrations.RunPython.noop, elidable=True),
    ]
