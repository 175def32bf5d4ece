import assistant.models.fields
import django.core.validators
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
                name='McpServer',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('headers', assistant.models.fields.EncryptedTextField(blank=True, help_text='A JSON object of HTTP headers, encrypted at rest.')),
                    ('oauth_client_id', models.CharField(blank=True, max_length=200, verbose_name='OAuth client id')),
                    ('oauth_client_secret', assistant.models.fields.EncryptedTextField(blank=True, verbose_name='OAuth client secret')),
                    ('failures', models.PositiveIntegerField(default=0, editable=False)),
                    ('rests_until', models.DateTimeField(editable=False, null=True)),
                    ('name', models.SlugField(max_length=40, verbose_name='name')),
                    ('prefix', models.SlugField(help_text='Its tools are called prefix__name.', max_length=24, verbose_name='prefix')),
                    ('url', models.URLField(blank=True, max_length=500, verbose_name='URL')),
                    ('command', models.CharField(blank=True, help_text="In place of a URL: one of the deployment's ASSISTANT_MCP_STDIO_COMMANDS.", max_length=60, verbose_name='command')),
                    ('credentials_of', models.CharField(choices=[('tenant', "The tenant's, for all members"), ('user', "Each member's own")], default='tenant', help_text='Whose credentials are sent to the server.', max_length=10, verbose_name='credentials')),
                    ('oauth_issuer', models.URLField(blank=True, help_text='The authorization server of the OAuth client, the only server that its secret is sent to.', max_length=500, verbose_name='OAuth issuer')),
                    ('oauth_scope', models.CharField(blank=True, max_length=500, verbose_name='OAuth scope')),
                    ('context_keys', models.JSONField(blank=True, default=list, help_text="Which parts of a call's context are sent to the server.", verbose_name='context')),
                    ('timeout_seconds', models.PositiveIntegerField(default=30, help_text='For one call of a tool.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(240)], verbose_name='timeout seconds')),
                    ('is_active', models.BooleanField(default=False, verbose_name='active')),
                    ('health', models.CharField(choices=[('unknown', 'Not asked yet'), ('up', 'Answers'), ('down', 'Does not answer')], default='unknown', editable=False, max_length=10, verbose_name='health')),
                    ('health_detail', models.CharField(blank=True, editable=False, max_length=500)),
                    ('checked_at', models.DateTimeField(editable=False, null=True, verbose_name='checked at')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mcp_servers', to='assistant.tenant', verbose_name='tenant')),
                    ('asks_people', models.BooleanField(db_default=False, default=False, help_text='Its tools may ask the people who chat, in a form, and it receives their answers (elicitation).', verbose_name='may ask people')),
                    ('left_out', models.JSONField(db_default=models.Value([], models.JSONField()), default=list, editable=False, help_text='Listed tools that cannot be used, with the reasons.', verbose_name='left out')),
                ],
                options={
                    'verbose_name': 'MCP server',
                    'verbose_name_plural': 'MCP servers',
                    'ordering': ['tenant', 'name'],
                    'constraints': [models.UniqueConstraint(fields=('tenant', 'name'), name='mcp_server_name_per_tenant'), models.UniqueConstraint(fields=('tenant', 'prefix'), name='mcp_server_prefix_per_tenant')],
                },
            ),
            migrations.CreateModel(
                name='McpCredential',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('headers', assistant.models.fields.EncryptedTextField(blank=True, help_text='A JSON object of HTTP headers, encrypted at rest.')),
                    ('oauth_client_id', models.CharField(blank=True, max_length=200, verbose_name='OAuth client id')),
                    ('oauth_client_secret', assistant.models.fields.EncryptedTextField(blank=True, verbose_name='OAuth client secret')),
                    ('failures', models.PositiveIntegerField(default=0, editable=False)),
                    ('rests_until', models.DateTimeField(editable=False, null=True)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                    ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members_credentials', to='assistant_mcp_servers.mcpserver', verbose_name='server')),
                ],
                options={
                    'verbose_name': 'MCP credential',
                    'verbose_name_plural': 'MCP credentials',
                    'ordering': ['server', 'user'],
                    'constraints': [models.UniqueConstraint(fields=('server', 'user'), name='one_mcp_credential_per_member')],
                },
            ),
            migrations.CreateModel(
                name='McpTool',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(editable=False, max_length=128)),
                    ('definition', models.JSONField(editable=False)),
                    ('digest', models.CharField(editable=False, max_length=64)),
                    ('accepted', models.JSONField(editable=False, null=True)),
                    ('accepted_digest', models.CharField(blank=True, editable=False, max_length=64)),
                    ('needs_approval', models.BooleanField(default=True, verbose_name='ask first')),
                    ('is_listed', models.BooleanField(default=True, editable=False)),
                    ('changed_at', models.DateTimeField(auto_now=True)),
                    ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='assistant_mcp_servers.mcpserver')),
                    ('is_allowed', models.BooleanField(default=False, verbose_name='allowed')),
                ],
                options={
                    'verbose_name': 'MCP tool',
                    'verbose_name_plural': 'MCP tools',
                    'ordering': ['server', 'name'],
                    'constraints': [models.UniqueConstraint(fields=('server', 'name'), name='mcp_tool_name_per_server')],
                },
            ),
        ]),
    ]
