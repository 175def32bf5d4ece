from typing import Any

from django.db import migrations, models
from django.db.models import Exists, OuterRef


def forget_those_who_left(apps: Any, schema_editor: Any) -> None:
    """Delete the credentials of people whose membership ended before this was done at once."""
    places = apps.get_model("assistant", "Membership").objects.filter(
        tenant_id=OuterRef("server__tenant_id"), user_id=OuterRef("user_id")
    )
    apps.get_model("assistant", "McpCredential").objects.exclude(Exists(places)).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('assistant', '0011_retention'),
    ]

    operations = [
        migrations.AddField(
            model_name='mcpcredential',
            name='failures',
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name='mcpcredential',
            name='rests_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='mcpserver',
            name='failures',
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name='mcpserver',
            name='rests_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.RunPython(forget_those_who_left, migrations.RunPython.noop, elidable=True),
    ]
