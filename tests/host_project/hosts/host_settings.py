"""Settings of one of three small projects; HOST names its app."""

import os

HOST = os.environ["HOST"]
SECRET_KEY = "of-an-example-project-in-a-test-suite-and-so-no-secret"
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = [
    *(["people"] if HOST == "organisations" else []),
    HOST,
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "assistant",
    "assistant.contrib.panel",
    "assistant.contrib.end_users",
    "assistant.contrib.row_level_security",
    "assistant.contrib.webhooks",
    "assistant.contrib.bundles",
    "assistant.contrib.timed",
    "assistant.contrib.inbox",
    "assistant.contrib.saved_prompts",
    "assistant.contrib.tool_requests",
    "assistant.contrib.dictation",
    "assistant.contrib.temporary",
    "assistant.contrib.event_files",
    "assistant.contrib.provider_health",
    "assistant.contrib.context_gauge",
    "assistant.contrib.tool_notices",
    "assistant.contrib.model_choice",
    "assistant.contrib.receipts",
    "assistant.contrib.evaluations",
    "assistant.contrib.data_exports",
    "assistant.contrib.branding",
    "assistant.contrib.password_reset",
    "assistant.contrib.browser_sessions",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "assistant.contrib.browser_sessions.middleware.NoteSessions",
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
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": f"{HOST}.sqlite3",
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
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
# As the most used template of projects has it.
DATABASES["default"]["ATOMIC_REQUESTS"] = True
AUTH_USER_MODEL = "people.Person" if HOST == "organisations" else "auth.User"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
STATIC_URL = "static/"
ROOT_URLCONF = "host_urls"
ASSISTANT_TENANTS = f"{HOST}.assistant.Host"
