import assistant.models.tenants
import django.core.validators
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('assistant', '0019_attachments'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PersonSettings',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='assistant_settings', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(blank=True, max_length=100, verbose_name='name')),
                ('language', models.CharField(blank=True, max_length=20, verbose_name='language')),
                ('theme', models.CharField(choices=[('system', 'As the device'), ('light', 'Light'), ('dark', 'Dark')], default='system', max_length=6, verbose_name='appearance')),
            ],
        ),
        migrations.AddField(
            model_name='tenant',
            name='email_domains',
            field=models.CharField(blank=True, db_default='', default='', help_text='Such as acme.com, acme.co.uk. Whoever signs in for the first time by OpenID Connect with an address there becomes a member.', max_length=500, validators=[assistant.models.tenants.validate_domains], verbose_name='e-mail domains'),
        ),
        migrations.CreateModel(
            name='BrandImage',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('media_type', models.CharField(max_length=30)),
                ('data', models.BinaryField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='brand_images', to='assistant.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='Brand',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, help_text="Empty: the tenant's name, and ours in titles.", max_length=60, verbose_name='product name')),
                ('accent', models.CharField(blank=True, help_text='Such as #0f6b5c. Each theme gets a shade of it that can be read.', max_length=7, validators=[django.core.validators.RegexValidator('^#[0-9a-fA-F]{6}\\Z', 'Enter a colour such as #0f6b5c.')], verbose_name='accent colour')),
                ('greeting', models.CharField(blank=True, help_text='What an empty conversation begins with, in the chat and in the widget.', max_length=200, verbose_name='greeting')),
                ('is_on_sign_in', models.BooleanField(default=False, help_text="For whoever is led there from the tenant's pages. It tells strangers that the tenant exists.", verbose_name='on the sign-in page')),
                ('shows_model', models.BooleanField(default=False, help_text='The provider and the model, to all members; admins see them anyway.', verbose_name='shows who answers')),
                ('tenant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='brand', to='assistant.tenant')),
                ('favicon', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='assistant.brandimage')),
                ('logo', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='assistant.brandimage')),
            ],
            options={
                'verbose_name': 'brand',
            },
        ),
    ]
