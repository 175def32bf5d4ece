"""The product's own settings, each from the environment variable of its name; a project may set any of them itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

from assistant.environment import Environment

_env = Environment()

# Which provider answers where neither the assistant nor its tenant names one.
OPENAI_API_KEY = _env.key("OPENAI_API_KEY")
OPENAI_BASE_URL = _env.url("OPENAI_BASE_URL")
OPENAI_MODEL = _env.text("OPENAI_MODEL")
LOCAL_MODEL_PATH = _env.file("LOCAL_MODEL_PATH")
# Where `local_model serve` answers; `manage.py demo` sets it for the server that it starts.
LOCAL_MODEL_URL = _env.url("LOCAL_MODEL_URL")

# What several processes share; without it everything stays within one.
REDIS_URL = _env.url("REDIS_URL", schemes=("redis", "rediss", "unix"))

# The first encrypts. Without any, a key is made from SECRET_KEY.
FIELD_ENCRYPTION_KEYS = _env.fernet_keys("FIELD_ENCRYPTION_KEYS")

WEATHER_BASE_URL = _env.url("WEATHER_BASE_URL", "https://api.open-meteo.com")
WEATHER_GEOCODING_URL = _env.url("WEATHER_GEOCODING_URL", "https://geocoding-api.open-meteo.com")

# Places inside that tenants' providers and MCP servers may be at; by default they must be on the public Internet.
INTERNAL_HOSTS = _env.inside("INTERNAL_HOSTS")

# Programs that speak MCP on their standard input and output, and that tenants may choose by name.
MCP_STDIO_COMMANDS = _env.commands("MCP_STDIO_COMMANDS")
# Sessions for MCP clients older than 2026-07-28: they can then be asked for approvals. One process, or sticky routing.
MCP_SESSIONS = _env.flag("MCP_SESSIONS")

# What Prometheus must send to read /metrics; without one nobody may. How many tenants get a label of their own there.
METRICS_TOKEN = _env.key("METRICS_TOKEN")
METRICS_TENANTS = _env.number("METRICS_TENANTS", 0)

# Whether each process measures how long its event loop is held, and names the task that holds it.
LOOP_WATCH = _env.flag("LOOP_WATCH", True)

# PostgreSQL holds every statement to the tenants it may see; `manage.py row_level_security` installs it.
ROW_LEVEL_SECURITY = _env.flag("ROW_LEVEL_SECURITY")

# Whether the serving process sends what is due to webhooks; else `manage.py deliver_webhooks` does, by cron.
WEBHOOKS_FROM_SERVER = _env.flag("WEBHOOKS_FROM_SERVER", True)

# For how many days a tenant's records are kept if it does not say, and at most; 0: for ever. See apply_retention.
RETENTION_DEFAULT_DAYS = _env.number("RETENTION_DEFAULT_DAYS", 0)
RETENTION_MAX_DAYS = _env.number("RETENTION_MAX_DAYS", 0)

# What tenants, and each of their members, may use where their own limits say nothing: numbers by name.
TENANT_LIMITS = _env.limits("TENANT_LIMITS")
MEMBER_LIMITS = _env.limits("MEMBER_LIMITS", {"connections": 2000})
# Open websockets and event streams of all tenants in one server process; 0: no limit.
MAX_CONNECTIONS = _env.number("MAX_CONNECTIONS", 10_000)
# What a million tokens of the deployment's own provider cost, by model.
MODEL_PRICES = _env.prices("MODEL_PRICES")

# Whether spans hold what was said and passed; they always hold names, tokens and durations.
TRACE_CONTENT = _env.flag("TRACE_CONTENT")

# Dotted names of interceptors around every tool call and every question to a model, the outermost first.
TOOL_INTERCEPTORS = _env.words("TOOL_INTERCEPTORS")
MODEL_INTERCEPTORS = _env.words("MODEL_INTERCEPTORS")

# The class that keeps a project's own tenants and ours in step (assistant.hosting.HostTenants).
ASSISTANT_TENANTS = ""

# A project that gives a SECRET_KEY in its settings has no local one.
SECRET_KEY_IS_LOCAL = False
ENVIRONMENT_PROBLEMS = _env.problems

__all__ = [
    "ASSISTANT_TENANTS",
    "ENVIRONMENT_PROBLEMS",
    "FIELD_ENCRYPTION_KEYS",
    "INTERNAL_HOSTS",
    "LOCAL_MODEL_PATH",
    "LOCAL_MODEL_URL",
    "LOOP_WATCH",
    "MAX_CONNECTIONS",
    "MCP_SESSIONS",
    "MCP_STDIO_COMMANDS",
    "MEMBER_LIMITS",
    "METRICS_TENANTS",
    "METRICS_TOKEN",
    "MODEL_INTERCEPTORS",
    "MODEL_PRICES",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "REDIS_URL",
    "RETENTION_DEFAULT_DAYS",
    "RETENTION_MAX_DAYS",
    "ROW_LEVEL_SECURITY",
    "SECRET_KEY_IS_LOCAL",
    "TENANT_LIMITS",
    "TOOL_INTERCEPTORS",
    "TRACE_CONTENT",
    "WEATHER_BASE_URL",
    "WEATHER_GEOCODING_URL",
    "WEBHOOKS_FROM_SERVER",
]


def keys_from(secret_key: str) -> list[str]:
    """The keys that encrypt fields where none are given."""
    return [base64.urlsafe_b64encode(hashlib.sha256(b"field-encryption:" + secret_key.encode()).digest()).decode()]


def missing_from(settings: Any) -> Iterator[tuple[str, Any]]:
    """Each of these settings that a project does not have, with its value."""
    for name in __all__:
        if not hasattr(settings, name):
            value = globals()[name]
            is_derived = name == "FIELD_ENCRYPTION_KEYS" and not value
            yield name, keys_from(settings.SECRET_KEY) if is_derived else value
