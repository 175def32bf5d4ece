"""Settings of a deployment; every value that differs between deployments comes from the environment."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import django_stubs_ext
from csp.constants import NONE, SELF

from config.environment import Environment, local_secret

# Lets Django's generic classes take their parameters at run time too: ModelAdmin[Tenant].
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()
env.read_file(Path(os.environ.get("ENV_FILE", BASE_DIR / ".env")))

DEBUG = env.flag("DEBUG")
SECRET_KEY_IS_LOCAL = not env.text("SECRET_KEY")
SECRET_KEY = env.text("SECRET_KEY") or local_secret(BASE_DIR / ".secret_key")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")

FIELD_ENCRYPTION_KEYS_ARE_DERIVED = not env.text("FIELD_ENCRYPTION_KEYS")
FIELD_ENCRYPTION_KEYS = env.fernet_keys("FIELD_ENCRYPTION_KEYS") or [
    base64.urlsafe_b64encode(hashlib.sha256(b"field-encryption:" + SECRET_KEY.encode()).digest()).decode()
]

OPENAI_API_KEY = env.text("OPENAI_API_KEY")
OPENAI_BASE_URL = env.url("OPENAI_BASE_URL")
OPENAI_MODEL = env.text("OPENAI_MODEL")
LOCAL_MODEL_PATH = env.path("LOCAL_MODEL_PATH")
# Where `local_model serve` answers; `manage.py demo` sets it for the server that it starts.
LOCAL_MODEL_URL = env.url("LOCAL_MODEL_URL")

WEATHER_BASE_URL = env.url("WEATHER_BASE_URL", "https://api.open-meteo.com")
WEATHER_GEOCODING_URL = env.url("WEATHER_GEOCODING_URL", "https://geocoding-api.open-meteo.com")

# Places inside that tenants' providers and MCP servers may be at; by default they must be on the public Internet.
INTERNAL_HOSTS = env.inside("INTERNAL_HOSTS")

# Programs that speak MCP on their standard input and output, and that tenants may choose by name.
MCP_STDIO_COMMANDS = env.commands("MCP_STDIO_COMMANDS")

INSTALLED_APPS = [
    "daphne",
    "assistant",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "tools",
]

MIDDLEWARE = [
    "assistant.health.answer_probes",
    "django.middleware.security.SecurityMiddleware",
    "config.staticfiles.StaticFilesMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "assistant.admin.sight.AdminSight",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
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


# PostgreSQL holds every statement to the tenants it may see; `manage.py row_level_security` installs it.
ROW_LEVEL_SECURITY = env.flag("ROW_LEVEL_SECURITY")


def _database(config: dict[str, Any]) -> dict[str, Any]:
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
        # Opening the file and setting it up costs more than most queries.
        config["CONN_MAX_AGE"] = None
    else:
        # A persistent connection is checked before its first query of a request, so that a restart is not felt.
        config["CONN_MAX_AGE"] = 60
        config["CONN_HEALTH_CHECKS"] = True
        # A cursor on the server cannot carry along whose rows it may see.
        config["DISABLE_SERVER_SIDE_CURSORS"] = ROW_LEVEL_SECURITY
    return config


DATABASES = {"default": _database(env.database("DATABASE_URL", f"sqlite:///{BASE_DIR / 'db.sqlite3'}"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.url("REDIS_URL", schemes=("redis", "rediss", "unix"))

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
WHITENOISE_USE_FINDERS = True
MEDIA_ROOT = BASE_DIR / "media"

# No inline script or style, no eval, nothing from or to other origins.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "manifest-src": [SELF],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
if not DEBUG:
    # Behind plain HTTP (a trial on one's own machine) these are switched off by INSECURE_HTTP=true.
    SECURE = not env.flag("INSECURE_HTTP")
    SESSION_COOKIE_SECURE = SECURE
    CSRF_COOKIE_SECURE = SECURE
    SECURE_SSL_REDIRECT = SECURE
    SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE
    SECURE_HSTS_PRELOAD = SECURE
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Sessions for MCP clients older than 2026-07-28: they can then be asked for approvals. One process, or sticky routing.
MCP_SESSIONS = env.flag("MCP_SESSIONS")

# Whether the serving process sends what is due to webhooks; else `manage.py deliver_webhooks` does, by cron.
WEBHOOKS_FROM_SERVER = env.flag("WEBHOOKS_FROM_SERVER", True)

# Whether spans hold what was said and passed; they always hold names, tokens and durations.
TRACE_CONTENT = env.flag("TRACE_CONTENT")

# Dotted names of interceptors around every tool call and every question to a model, the outermost first.
TOOL_INTERCEPTORS = env.words("TOOL_INTERCEPTORS")
MODEL_INTERCEPTORS = env.words("MODEL_INTERCEPTORS")

REST_FRAMEWORK = {
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    # The address and the query string of an export say its format.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tenant Assistant",
    "DESCRIPTION": "Assistants, conversations and runs of one tenant, for one of its members.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SORT_OPERATIONS": False,
    "APPEND_COMPONENTS": {
        "securitySchemes": {
            "apiKey": {"type": "http", "scheme": "bearer", "description": "An API key of one member of the tenant."}
        }
    },
    "SECURITY": [{"apiKey": []}],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "assistant.api.docs.add_common_parts",
    ],
    "ENUM_NAME_OVERRIDES": {"RunStatus": "assistant.models.runs.Run.Status"},
}

# What Prometheus must send to read /metrics; without one nobody may. How many tenants get a label of their own there.
METRICS_TOKEN = env.text("METRICS_TOKEN")
METRICS_TENANTS = env.number("METRICS_TENANTS", 0)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"labels": {"()": "tools.logs.Labels"}},
    "formatters": {
        "plain": {"format": "%(asctime)s %(levelname)s %(name)s%(labels)s %(message)s"},
        "json": {"()": "tools.logs.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env.choice("LOG_FORMAT", "plain", ("plain", "json")),
            "filters": ["labels"],
        }
    },
    "root": {"handlers": ["console"], "level": env.text("LOG_LEVEL", "INFO").upper()},
    # They tell of every request to a provider: its address, and at DEBUG the prompts.
    "loggers": {name: {"level": "WARNING"} for name in ("httpx2", "httpcore2", "openai", "aiohttp", "mcp")}
    # uvicorn's own lines go the same way; its access log would say query strings, and ours says the rest.
    | {
        "uvicorn": {"handlers": [], "level": "INFO", "propagate": True},
        "uvicorn.access": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.server": {"handlers": [], "level": "WARNING", "propagate": True},
    },
}

ENVIRONMENT_PROBLEMS = env.problems
