from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('assistant', '0015_conversations_and_inbox'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='branches',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False, help_text="Pairs: the position of a branch's first message, and that after the message it follows."),
        ),
        migrations.AddField(
            model_name='conversation',
            name='choices',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False, help_text='Pairs: the position after a message, and that of the one of its followers to show.'),
        ),
        migrations.AddField(
            model_name='run',
            name='follows',
            field=models.CharField(blank=True, db_default='', default='', help_text='The id of the run that its client says it follows.', max_length=128),
        ),
    ]
