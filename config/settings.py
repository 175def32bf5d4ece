"""Settings. Every value that differs between deployments comes from the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from assistant.core.values.frame_sizes import MAX_SERVER_FRAME
from assistant.environment import Environment, local_secret, public_host
from config import csp, languages, mail
from config.csp import NONE, SELF

BASE_DIR = Path(__file__).resolve().parent.parent

# Where the site keeps what it writes: its SQLite database, key, files of people and collected static files.
DATA_DIR = Path(os.environ.get("ASSISTANT_DATA_DIR") or BASE_DIR)

env = Environment()
env.read_file(Path(os.environ.get("ENV_FILE", DATA_DIR / ".env")))

# The app's own settings, each from the environment variable of the same name.
from assistant.contrib.bundles.defaults import *  # noqa: E402, F403
from assistant.contrib.change_sets.defaults import *  # noqa: E402, F403
from assistant.contrib.data.defaults import *  # noqa: E402, F403
from assistant.contrib.docs.defaults import *  # noqa: E402, F403
from assistant.contrib.embeddings.defaults import *  # noqa: E402, F403
from assistant.contrib.end_users.defaults import *  # noqa: E402, F403
from assistant.contrib.evaluations.defaults import *  # noqa: E402, F403
from assistant.contrib.file_reading.defaults import *  # noqa: E402, F403
from assistant.contrib.inbox.defaults import *  # noqa: E402, F403
from assistant.contrib.insights.defaults import *  # noqa: E402, F403
from assistant.contrib.invitations.defaults import *  # noqa: E402, F403
from assistant.contrib.mcp_server.defaults import *  # noqa: E402, F403
from assistant.contrib.mcp_servers.defaults import *  # noqa: E402, F403
from assistant.contrib.metrics.defaults import *  # noqa: E402, F403
from assistant.contrib.panel.defaults import *  # noqa: E402, F403
from assistant.contrib.redis.defaults import ASSISTANT_REDIS_URL, REDIS_SCHEMES  # noqa: E402
from assistant.contrib.row_level_security.defaults import ASSISTANT_ROW_LEVEL_SECURITY  # noqa: E402
from assistant.contrib.sent_requests.defaults import *  # noqa: E402, F403
from assistant.contrib.sign_in.defaults import *  # noqa: E402, F403
from assistant.contrib.sign_in.defaults import ASSISTANT_OIDC_ISSUER, ASSISTANT_SECOND_FACTOR  # noqa: E402
from assistant.contrib.sources.defaults import *  # noqa: E402, F403
from assistant.contrib.telemetry.defaults import *  # noqa: E402, F403
from assistant.contrib.timed.defaults import *  # noqa: E402, F403
from assistant.contrib.titles.defaults import *  # noqa: E402, F403
from assistant.contrib.weather.defaults import *  # noqa: E402, F403
from assistant.contrib.webhooks.defaults import *  # noqa: E402, F403
from assistant.defaults import *  # noqa: E402, F403
from assistant.defaults import (  # noqa: E402
    ASSISTANT_ENVIRONMENT_PROBLEMS,
    ASSISTANT_FIELD_ENCRYPTION_KEYS,
    keys_from,
)

ASSISTANT_REDIS_URL = env.url("REDIS_URL", ASSISTANT_REDIS_URL, schemes=REDIS_SCHEMES)
# A checkout has the whole library by default.
ASSISTANT_LIBRARY = env.words("ASSISTANT_LIBRARY", ("all",))
# Its own site has no other pages that a stranger would come for.
ASSISTANT_DOCS_PUBLIC = env.flag("ASSISTANT_DOCS_PUBLIC", True)

DEBUG = env.flag("DEBUG")
ASSISTANT_SECRET_KEY_IS_LOCAL = not env.text("SECRET_KEY")
SECRET_KEY = env.text("SECRET_KEY") or local_secret(DATA_DIR / ".secret_key")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", LOOPBACK)
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")
if DEBUG and (_host := public_host(ALLOWED_HOSTS)):
    # Django's debug pages show settings, code and variables to anyone.
    env.problems.append(("DEBUG", f"must be false where ALLOWED_HOSTS has the public name {_host!r}"))

ASSISTANT_FIELD_ENCRYPTION_KEYS = ASSISTANT_FIELD_ENCRYPTION_KEYS or keys_from(SECRET_KEY)

ALLAUTH_APPS: dict[str, None] = {}
ALLAUTH_MIDDLEWARE: dict[str, None] = {}
if ASSISTANT_SECOND_FACTOR != "off" or ASSISTANT_OIDC_ISSUER:
    from assistant.contrib.sign_in.allauth_settings import *  # noqa: F403
    from assistant.contrib.sign_in.allauth_settings import (
        OIDC_APPS,
        OIDC_MIDDLEWARE,
        SECOND_FACTOR_APPS,
        SECOND_FACTOR_MIDDLEWARE,
    )

    # Both have some of them.
    if ASSISTANT_OIDC_ISSUER:
        ALLAUTH_APPS |= dict.fromkeys(OIDC_APPS)
        ALLAUTH_MIDDLEWARE |= dict.fromkeys(OIDC_MIDDLEWARE)
    if ASSISTANT_SECOND_FACTOR != "off":
        ALLAUTH_APPS |= dict.fromkeys(SECOND_FACTOR_APPS)
        ALLAUTH_MIDDLEWARE |= dict.fromkeys(SECOND_FACTOR_MIDDLEWARE)

_configured = env.database("DATABASE_URL", f"sqlite:///{DATA_DIR / 'db.sqlite3'}")

INSTALLED_APPS = [
    # Before the assistant, whose admin replaces their pages there.
    *ALLAUTH_APPS,
    # Only for `runserver`: daphne adds websockets to it, but is slow to import.
    *(["whitenoise.runserver_nostatic", "daphne"] if "runserver" in sys.argv else []),
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
    "assistant.contrib.data",
    "config.apps.CheckoutConfig",
    "config.apps.PanelConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    *csp.APPS,
    "tools",
]

MIDDLEWARE = [
    "assistant.health.answer_probes",
    "django.middleware.security.SecurityMiddleware",
    "config.staticfiles.StaticFilesMiddleware",
    csp.MIDDLEWARE,
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "assistant.admin.sight.AdminSight",
    "assistant.pages.preferences.PersonLanguage",
    "django.contrib.messages.middleware.MessageMiddleware",
    "assistant.pages.sign_in.SignInLimits",
    "assistant.contrib.browser_sessions.middleware.NoteSessions",
    *ALLAUTH_MIDDLEWARE,
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
# For `runserver`; other servers have options.
DAPHNE_WEBSOCKET_MAX_MESSAGE_SIZE = DAPHNE_WEBSOCKET_MAX_FRAME_SIZE = MAX_SERVER_FRAME

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


def _database(config: dict[str, Any]) -> dict[str, Any]:
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    else:
        # Row-level security is set per statement, but a server-side cursor fetches with separate statements.
        config["DISABLE_SERVER_SIDE_CURSORS"] = ASSISTANT_ROW_LEVEL_SECURITY
        # libpq waits without end for a host that does not answer. `?connect_timeout=` of the URL says otherwise.
        config.setdefault("OPTIONS", {}).setdefault("connect_timeout", 10)
    return config


DATABASES = {"default": _database(_configured)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# The first signs nobody in: it limits how often passwords are tried, on every page.
AUTHENTICATION_BACKENDS = [
    "assistant.services.signin.guard.SignInGuard",
    "django.contrib.auth.backends.ModelBackend",
]
LOGIN_URL = "assistant:login"

if ALLAUTH_APPS and ASSISTANT_REDIS_URL:
    # Shared by all processes: django-allauth counts in it, and remembers codes that were used.
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": ASSISTANT_REDIS_URL,
            "KEY_PREFIX": "cache",
        }
    }
# Where e-mail goes: smtp+tls://user:password@host:587. Without it, invitations are links to copy.
if _mail := mail.email("EMAIL_URL", env):
    globals().update(_mail)
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", "assistant@localhost")

# The first is for people whose browsers ask for none of them.
LANGUAGES = languages.chosen(env)
LANGUAGE_CODE = LANGUAGES[0][0]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "staticfiles"
WHITENOISE_USE_FINDERS = True
MEDIA_ROOT = DATA_DIR / "media"

# No inline script or style, no eval, nothing from or to other origins.
SECURE_CSP = {
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
}
CONTENT_SECURITY_POLICY = {"DIRECTIVES": SECURE_CSP}  # read by django-csp
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
if not DEBUG:
    # Off for plain HTTP (INSECURE_HTTP=true), and if only loopback hosts are allowed.
    SECURE = not (env.flag("INSECURE_HTTP") or set(ALLOWED_HOSTS) <= set(LOOPBACK))
    SESSION_COOKIE_SECURE = SECURE
    CSRF_COOKIE_SECURE = SECURE
    SECURE_SSL_REDIRECT = SECURE
    SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE
    SECURE_HSTS_PRELOAD = SECURE
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"labels": {"()": "assistant.toolkit.logs.ContextFilter"}},
    "formatters": {
        "plain": {"format": "%(asctime)s %(levelname)s %(name)s%(labels)s %(message)s"},
        "json": {"()": "assistant.toolkit.logs.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env.choice("LOG_FORMAT", "plain", ("plain", "json")),
            "filters": ["labels"],
        }
    },
    "root": {"handlers": ["console"], "level": env.choice("LOG_LEVEL", "info", LOG_LEVELS).upper()},
    # At lower levels these log every request to providers or MCP servers, and at DEBUG the prompts.
    "loggers": {
        name: {"level": "WARNING"}
        for name in ("httpx2", "httpcore2", "openai", "anthropic", "google_genai", "aiohttp", "mcp", "sse_starlette")
    }
    # uvicorn logs through the root handler. Its access log is off, because it contains query strings.
    | {
        "uvicorn": {"handlers": [], "level": "INFO", "propagate": True},
        "uvicorn.access": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.server": {"handlers": [], "level": "WARNING", "propagate": True},
    },
}

ASSISTANT_ENVIRONMENT_PROBLEMS = [*env.problems, *ASSISTANT_ENVIRONMENT_PROBLEMS]
