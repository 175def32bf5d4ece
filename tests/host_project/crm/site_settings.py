"""As `django-admin startproject` makes it, with users and tenants of its own; the last lines are docs/saas.md's."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent

SECRET_KEY = "of-an-example-project-in-a-test-suite-and-so-no-secret"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]

INSTALLED_APPS = [
    "people",
    "accounts",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "assistant.contrib.browser_sessions.middleware.NoteSessions",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "site_urls"
ASGI_APPLICATION = "site_asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [],
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
        "NAME": os.environ.get("HOST_DATABASE", "db.sqlite3"),
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

# As many templates of projects have it.
DATABASES["default"]["ATOMIC_REQUESTS"] = True

AUTH_USER_MODEL = "people.Person"
LOGIN_URL = "/sign-in/"
STATIC_URL = "static/"
# The apps bring keys of their own.
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"

# A Django REST framework of its own, and none that suits ours.
REST_FRAMEWORK = {
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.TemplateHTMLRenderer"],
    "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.AnonRateThrottle"],
    "DEFAULT_THROTTLE_RATES": {"anon": "1/day"},
}

# "tools" is the project's own app: the product brings none of that name.
INSTALLED_APPS += [
    "tools",
    "assistant",
    "assistant.contrib.panel",
    "assistant.contrib.mcp_server",
    "assistant.contrib.mcp_servers",
    "assistant.contrib.openai_api",
    "assistant.contrib.webhooks",
    "assistant.contrib.bundles",
    "assistant.contrib.docs",
    "assistant.contrib.deploy",
    "assistant.contrib.redis",
    "assistant.contrib.event_files",
    "assistant.contrib.provider_health",
    "assistant.contrib.tool_notices",
    "assistant.contrib.row_level_security",
    "assistant.contrib.evaluations",
    "assistant.contrib.demo",
    "assistant.contrib.timed",
    "assistant.contrib.inbox",
    "assistant.contrib.saved_prompts",
    "assistant.contrib.tool_requests",
    "assistant.contrib.dictation",
    "assistant.contrib.temporary",
    "assistant.contrib.model_choice",
    "assistant.contrib.receipts",
    "assistant.contrib.insights",
    "assistant.contrib.change_sets",
    "assistant.contrib.improvements",
    "assistant.contrib.embeddings",
    "assistant.contrib.collections",
    "assistant.contrib.gaps",
    "assistant.contrib.sources",
    "assistant.contrib.sessions",
    "assistant.contrib.conversation_exports",
    "assistant.contrib.branding",
    "assistant.contrib.data_exports",
    "assistant.contrib.file_reading",
    "assistant.contrib.shares",
    "assistant.contrib.invitations",
    "assistant.contrib.sent_requests",
    "assistant.contrib.reasons",
    "assistant.contrib.explanations",
    "assistant.contrib.context_gauge",
    "assistant.contrib.sub_agents",
    "assistant.contrib.later_results",
    "assistant.contrib.tool_search",
    "assistant.contrib.titles",
    "assistant.contrib.price_list",
    "assistant.contrib.telemetry",
    "assistant.contrib.metrics",
    "assistant.contrib.weather",
    "assistant.contrib.local_model",
    "assistant.contrib.terminal",
    "assistant.contrib.calculator",
    "assistant.contrib.questions",
    "assistant.contrib.end_users",
    "assistant.contrib.sign_in",
    "assistant.contrib.password_reset",
    "assistant.contrib.browser_sessions",
]
ASSISTANT_TENANTS = "accounts.assistant.Accounts"
