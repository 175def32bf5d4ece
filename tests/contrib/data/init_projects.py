"""Three projects that differ in layout, users and tenants, as their authors have them before there is an assistant."""

from __future__ import annotations

from pathlib import Path

MANAGE = """\
#!/usr/bin/env python
import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "{settings}")
    execute_from_command_line(sys.argv)
"""
COMMON = """\
import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent
SECRET_KEY = "of-an-example-project-in-a-test-suite-and-so-no-secret"
DEBUG = True
ALLOWED_HOSTS = ["127.0.0.1"]
DJANGO = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DB", "db.sqlite3")}}
STATIC_URL = "static/"
"""
ASGI = """\
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "{settings}")

application = get_asgi_application()
"""
ADMIN_URLS = """\
from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
"""

# As startproject lays it out: accounts, and seats with a role.
SEATS = {
    "manage.py": MANAGE.format(settings="mysite.settings"),
    "mysite/__init__.py": "",
    "mysite/settings.py": COMMON
    + 'INSTALLED_APPS = [*DJANGO, "accounts", "sales"]\nROOT_URLCONF = "mysite.urls"\n'
    + 'WSGI_APPLICATION = "mysite.wsgi.application"\nDEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"',
    "mysite/urls.py": ADMIN_URLS,
    "mysite/asgi.py": ASGI.format(settings="mysite.settings"),
    "accounts/__init__.py": "",
    "accounts/models.py": """\
from django.conf import settings
from django.db import models


class Account(models.Model):
    subdomain = models.SlugField(unique=True)
    company = models.CharField(max_length=100)


class Seat(models.Model):
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="seats")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=[("owner", "Owner"), ("manager", "Manager"), ("agent", "Agent")])
    is_active = models.BooleanField(default=True)
""",
    "sales/__init__.py": "",
    "sales/models.py": """\
from django.db import models


class Customer(models.Model):
    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE)
    name = models.CharField(max_length=50)
    email = models.EmailField()
    portal_token = models.CharField(max_length=50, default="")

    def __str__(self):
        return self.name


class Invoice(models.Model):
    \"\"\"What a customer has to pay.\"\"\"

    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE)
    number = models.IntegerField()
    total = models.DecimalField(max_digits=10, decimal_places=2)
    issued_on = models.DateField()

    def __str__(self):
        return f"Invoice {self.number}"


class Country(models.Model):
    name = models.CharField(max_length=50)


class AuditLog(models.Model):
    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE)
    text = models.TextField()
""",
}

# As a much used template lays it out: settings in a package, users of one company each, numbered by UUID.
COMPANIES = {
    "manage.py": MANAGE.format(settings="config.settings.local"),
    "config/__init__.py": "",
    "config/settings/__init__.py": "",
    "config/settings/base.py": COMMON
    + """\
LOCAL_APPS = ["acme.users", "acme.projects"]
INSTALLED_APPS = tuple(DJANGO + ["rest_framework"] + LOCAL_APPS)
DATABASES["default"]["ATOMIC_REQUESTS"] = True
AUTH_USER_MODEL = "users.User"
ROOT_URLCONF = "config.urls"
CELERY_BROKER_URL = "redis://127.0.0.1:6379/15"
LOGIN_URL = "admin:login"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGES = [("en", "English"), ("de", "German")]
""",
    "config/settings/local.py": "from .base import *  # noqa\n\nDEBUG = True\n",
    "config/urls.py": """\
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import path

urlpatterns = i18n_patterns(path("admin/", admin.site.urls))
""",
    "config/asgi.py": ASGI.format(settings="config.settings.local"),
    "acme/__init__.py": "",
    "acme/users/__init__.py": "",
    "acme/users/models.py": """\
import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class Company(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(max_length=80)
    is_active = models.BooleanField(default=True)


class User(AbstractUser):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    company = models.ForeignKey(Company, null=True, on_delete=models.SET_NULL)
    is_manager = models.BooleanField(default=False)
""",
    "acme/projects/__init__.py": "",
    "acme/projects/models.py": """\
import uuid

from django.conf import settings
from django.db import models


class Project(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    company = models.ForeignKey("users.Company", on_delete=models.CASCADE)
    title = models.CharField(max_length=80)
    budget = models.DecimalField(max_digits=10, decimal_places=2)

    def __str__(self):
        return self.title


class Task(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    title = models.CharField(max_length=80)
    assignee = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    state = models.CharField(max_length=10, choices=[("open", "Open"), ("done", "Done")])
    due_at = models.DateTimeField(null=True)
    extra = models.JSONField(default=dict)
""",
}

# With a route for everything, as a CMS has it, one module of all, and a many-to-many field for its members.
CLUBS = {
    "manage.py": MANAGE.format(settings="site_settings"),
    "site_settings.py": COMMON.replace('    "django.contrib.admin",\n', "")
    + 'INSTALLED_APPS = [*DJANGO, "clubs"]\nROOT_URLCONF = "site_urls"\nASGI_APPLICATION = "site_asgi.app"\n'
    + 'SITE_NAME = "Courtside"\nDEFAULT_AUTO_FIELD = "django.db.models.AutoField"\n',
    "site_urls.py": """\
from django.http import HttpResponse
from django.urls import re_path

urlpatterns = (re_path(r"^(.*)$", lambda request, path: HttpResponse("a page")),)
""",
    "site_asgi.py": ASGI.format(settings="site_settings").replace("application =", "app ="),
    "clubs/__init__.py": "",
    "clubs/models.py": """\
from django.contrib.auth.models import User
from django.db import models


class Club(models.Model):
    title = models.CharField(max_length=80)
    owner = models.ForeignKey(User, null=True, related_name="own_clubs", on_delete=models.SET_NULL)
    people = models.ManyToManyField(User)
    time_zone = models.CharField(max_length=40, default="Europe/Vienna")


class Court(models.Model):
    club = models.ForeignKey(Club, on_delete=models.CASCADE)
    name = models.CharField(max_length=20)

    class Meta:
        verbose_name_plural = "courts"


class Booking(models.Model):
    court = models.ForeignKey(Court, on_delete=models.CASCADE)
    player = models.ForeignKey(User, on_delete=models.CASCADE)
    starts_at = models.DateTimeField()
    door_code = models.CharField(max_length=10)
    pin = models.CharField(max_length=10)
""",
}


def make(folder: Path, files: dict[str, str]) -> None:
    """Write a project's files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for models in folder.rglob("models.py"):
        migrations = models.parent / "migrations"
        migrations.mkdir()
        (migrations / "__init__.py").touch()
