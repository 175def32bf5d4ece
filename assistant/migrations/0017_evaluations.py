import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('assistant', '0016_branches'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='test_tools',
            field=models.CharField(blank=True, choices=[('stub', 'Not run; the model reads that it worked'), ('ask', 'The tester is asked, and it runs'), ('replay', 'Not run; what was recorded is given back')], db_default='', default='', editable=False, help_text='How tools that change something are answered, if it is a test of a prompt. Empty: it is none.', max_length=6),
        ),
        migrations.AddField(
            model_name='run',
            name='is_test',
            field=models.BooleanField(db_default=False, default=False, help_text="It tests a prompt, and is not counted among the tenant's runs."),
        ),
        migrations.AddField(
            model_name='usageentry',
            name='is_test',
            field=models.BooleanField(db_default=False, default=False, help_text='Spent on a test of a prompt.'),
        ),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('tools', models.CharField(choices=[('stub', 'Read-only tools are not called either'), ('call', 'Read-only tools are called')], default='stub', help_text='Tools that change something are never called.', max_length=4, verbose_name='where no result was recorded')),
                ('judge_model', models.CharField(blank=True, default='', help_text="A model of the assistant's provider, which compares the two answers. Empty: none.", max_length=200, verbose_name='judge')),
                ('state', models.CharField(choices=[('new', 'Not run yet'), ('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='new', editable=False, max_length=10, verbose_name='state')),
                ('problem', models.CharField(blank=True, editable=False, help_text='Why it failed or stopped.', max_length=300)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(editable=False, null=True)),
                ('ended_at', models.DateTimeField(editable=False, null=True)),
                ('assistant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='assistant.assistant')),
                ('created_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt_version', models.ForeignKey(blank=True, help_text='What is compared with the published version. Empty: the newest draft.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='assistant.promptversion', verbose_name='draft')),
                ('run_as', models.ForeignKey(editable=False, help_text='The member in whose name questions are asked and read-only tools called.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='assistant.tenant')),
            ],
            options={
                'verbose_name': 'evaluation',
                'verbose_name_plural': 'evaluations',
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='EvaluationCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('question', models.TextField(max_length=20000)),
                ('history', models.JSONField(default=list, help_text='The messages before it: role and text of each.')),
                ('recorded', models.JSONField(default=list, help_text='Tool calls of its answer: name, arguments, result, sources of untrusted text.')),
                ('expected_tool', models.CharField(blank=True, default='', max_length=128, verbose_name='expected tool')),
                ('expected_text', models.CharField(blank=True, default='', max_length=1000, verbose_name='expected text')),
                ('verdict', models.CharField(blank=True, choices=[('better', 'The draft is better'), ('same', 'The same'), ('worse', 'The draft is worse')], default='', max_length=6, verbose_name='judgement')),
                ('note', models.CharField(blank=True, default='', max_length=500, verbose_name='note')),
                ('model_verdict', models.CharField(blank=True, choices=[('better', 'The draft is better'), ('same', 'The same'), ('worse', 'The draft is worse')], default='', max_length=6)),
                ('model_reason', models.CharField(blank=True, default='', max_length=500)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('conversation', models.ForeignKey(help_text='Where it was asked. Empty: it was typed in.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.conversation')),
                ('evaluation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cases', to='assistant.evaluation')),
                ('judged_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.tenant')),
            ],
            options={
                'verbose_name': 'question of an evaluation',
                'verbose_name_plural': 'questions of evaluations',
                'ordering': ['evaluation', 'position'],
            },
        ),
        migrations.CreateModel(
            name='EvaluationResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('side', models.CharField(choices=[('published', 'Published'), ('draft', 'Draft')], max_length=9)),
                ('prompt_number', models.PositiveIntegerField(help_text='Of the version. Empty: the default prompt.', null=True)),
                ('answer', models.TextField(blank=True)),
                ('calls', models.JSONField(default=list, help_text='Tool calls: name, arguments, result, how it was answered.')),
                ('error', models.CharField(blank=True, max_length=500)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('input_tokens', models.PositiveIntegerField(default=0)),
                ('output_tokens', models.PositiveIntegerField(default=0)),
                ('cost', models.BigIntegerField(default=0, help_text="In millionths of the currency's unit.")),
                ('milliseconds', models.PositiveIntegerField(default=0, validators=[django.core.validators.MaxValueValidator(2147483647)])),
                ('is_passed', models.BooleanField(help_text='Whether it is as expected. Empty: nothing is expected.', null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='assistant.evaluationcase')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='assistant.tenant')),
            ],
            options={
                'verbose_name': 'answer in an evaluation',
                'verbose_name_plural': 'answers in evaluations',
                'ordering': ['case', 'side'],
            },
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(condition=models.Q(('state__in', ['waiting', 'running'])), fields=['tenant'], name='evaluations_under_way'),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.UniqueConstraint(fields=('assistant', 'name'), name='evaluation_name_per_assistant'),
        ),
        migrations.AddConstraint(
            model_name='evaluationcase',
            constraint=models.UniqueConstraint(fields=('evaluation', 'position'), name='case_position'),
        ),
        migrations.AddConstraint(
            model_name='evaluationresult',
            constraint=models.UniqueConstraint(fields=('case', 'side'), name='one_result_per_case_and_side'),
        ),
    ]
