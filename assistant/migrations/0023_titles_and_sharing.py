import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('assistant', '0022_provider_state_and_kinds'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='assistant',
            name='makes_titles',
            field=models.BooleanField(db_default=True, default=True, help_text='After the first answer the model is asked for a short title of the conversation.', verbose_name='generated titles'),
        ),
        migrations.AddField(
            model_name='assistant',
            name='other_models',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Models of the same provider that people may choose for another answer: a list of names.'),
        ),
        migrations.AddField(
            model_name='assistant',
            name='suggests_follow_ups',
            field=models.BooleanField(db_default=False, default=False, help_text='After each answer the model is asked for up to three questions that could come next.', verbose_name='follow-up questions'),
        ),
        migrations.AddField(
            model_name='conversation',
            name='follow_ups',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False, help_text='Questions that the model suggests after the last answer.'),
        ),
        migrations.AddField(
            model_name='conversation',
            name='follow_ups_run',
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text='The number of the run whose answer `follow_ups` follow.'),
        ),
        migrations.AddField(
            model_name='conversation',
            name='title_origin',
            field=models.CharField(blank=True, choices=[('', "The first question's words"), ('asking', "The first question's words, while the model is asked"), ('model', 'The model'), ('person', 'A person')], db_default='person', default='person', editable=False, max_length=8),
        ),
        # People may have written the titles that are there already: no model replaces them.
        migrations.AlterField(
            model_name='conversation',
            name='title_origin',
            field=models.CharField(blank=True, choices=[('', "The first question's words"), ('asking', "The first question's words, while the model is asked"), ('model', 'The model'), ('person', 'A person')], db_default='', default='', editable=False, max_length=8),
        ),
        migrations.AddField(
            model_name='tenant',
            name='allows_sharing',
            field=models.BooleanField(db_default=False, default=False, help_text="Members can make links under which the tenant's other members read one of their conversations.", verbose_name='sharing of conversations'),
        ),
        migrations.AddField(
            model_name='usageentry',
            name='purpose',
            field=models.CharField(blank=True, choices=[('', 'Answers'), ('title', 'Titles and follow-up questions')], db_default='', default='', max_length=8),
        ),
        migrations.CreateModel(
            name='ConversationShare',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, help_text="The last part of the link's address.", primary_key=True, serialize=False)),
                ('title', models.CharField(blank=True, default='', help_text="The conversation's, at that time.", max_length=200)),
                ('path', models.JSONField(help_text='Pairs: the positions of the first message that is shown, and after the last.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='assistant.conversation')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversation_shares', to='assistant.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
    ]
