"""Settings of a warehouse whose tools let through what they should not; STOCK_TOOLS=clean has others that do not."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent
SECRET_KEY = "of-an-example-project-in-a-test-suite-and-so-no-secret"
INSTALLED_APPS = [
    "stock",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "assistant",
    "assistant.contrib.data",
    "assistant.contrib.row_level_security",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "stock.sqlite3",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
    }
}
if "HOST_POSTGRES" in os.environ:
    name, user, password, host, port = os.environ["HOST_POSTGRES"].split(",")
    DATABASES["default"] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": user,
        "PASSWORD": password,
        "HOST": host,
        "PORT": port,
    }
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
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
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = True
ROOT_URLCONF = "leaky_urls"
ASSISTANT_TENANTS = "stock.assistant.Host"
STOCK_TOOLS = os.environ.get("STOCK_TOOLS", "leaky")
