"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

from assistant.environment import Environment

_env = Environment()

# The provider for assistants without a provider whose tenant has none either.
OPENAI_API_KEY = _env.key("OPENAI_API_KEY")
OPENAI_BASE_URL = _env.url("OPENAI_BASE_URL")
OPENAI_MODEL = _env.text("OPENAI_MODEL")
LOCAL_MODEL_PATH = _env.file("LOCAL_MODEL_PATH")
# The address of `local_model serve`; `manage.py demo` sets it for the server that it starts.
LOCAL_MODEL_URL = _env.url("LOCAL_MODEL_URL")

# The Redis that several server processes share. Without it there can be only one process.
REDIS_URL = _env.url("REDIS_URL", schemes=("redis", "rediss", "unix"))

# Fernet keys for stored secrets: the first one encrypts, all decrypt. Without any, a key is derived from SECRET_KEY.
FIELD_ENCRYPTION_KEYS = _env.fernet_keys("FIELD_ENCRYPTION_KEYS")

WEATHER_BASE_URL = _env.url("WEATHER_BASE_URL", "https://api.open-meteo.com")
WEATHER_GEOCODING_URL = _env.url("WEATHER_GEOCODING_URL", "https://geocoding-api.open-meteo.com")

# Internal hosts that tenants' providers and MCP servers may use. By default they must be on the public Internet.
INTERNAL_HOSTS = _env.internal_hosts("INTERNAL_HOSTS")

# MCP servers on standard input and output, which tenants can choose by name.
MCP_STDIO_COMMANDS = _env.commands("MCP_STDIO_COMMANDS")
# Sessions for MCP clients older than 2026-07-28, which approvals need. For one process, or with sticky routing.
MCP_SESSIONS = _env.flag("MCP_SESSIONS")

# The bearer token for /metrics, which answers 404 without it, and how many tenants get a label of their own there.
METRICS_TOKEN = _env.key("METRICS_TOKEN")
METRICS_TENANTS = _env.number("METRICS_TENANTS", 0)

# Whether each process measures how long its event loop is held, and names the task that holds it.
LOOP_WATCH = _env.flag("LOOP_WATCH", True)

# Whether PostgreSQL limits statements to the visible tenants; `manage.py row_level_security` installs the policies.
ROW_LEVEL_SECURITY = _env.flag("ROW_LEVEL_SECURITY")

# Whether servers deliver webhooks. Otherwise `manage.py deliver_webhooks` does, from cron.
WEBHOOKS_FROM_SERVER = _env.flag("WEBHOOKS_FROM_SERVER", True)

# For how many days records are kept if the tenant sets no period, and the longest period it can set; 0: no limit.
RETENTION_DEFAULT_DAYS = _env.number("RETENTION_DEFAULT_DAYS", 0)
RETENTION_MAX_DAYS = _env.number("RETENTION_MAX_DAYS", 0)

# Limits by name for tenants, and for each of their members, without limits of their own.
TENANT_LIMITS = _env.limits("TENANT_LIMITS")
MEMBER_LIMITS = _env.limits("MEMBER_LIMITS", {"connections": 2000})
# Open websockets and event streams of all tenants in one server process; 0: no limit.
MAX_CONNECTIONS = _env.number("MAX_CONNECTIONS", 10_000)
# Prices of a million tokens of the deployment's provider, by model.
MODEL_PRICES = _env.prices("MODEL_PRICES")

# Whether spans contain messages, arguments and results, and not just names, tokens and durations.
TRACE_CONTENT = _env.flag("TRACE_CONTENT")

# The parts of the tool library that are on: families (clock, calculator, weather, knowledge, reminders), names of
# tools, or "all". None by default in a project that installs the app.
ASSISTANT_LIBRARY = _env.words("ASSISTANT_LIBRARY")

# Whether code that relies on the internals of other packages is used to save time (assistant.toolkit.fast_paths).
FAST_PATHS = _env.flag("FAST_PATHS", True)

# Dotted names of interceptors of every tool call and every model request, the outermost first.
TOOL_INTERCEPTORS = _env.words("TOOL_INTERCEPTORS")
MODEL_INTERCEPTORS = _env.words("MODEL_INTERCEPTORS")

# The dotted name of the subclass of assistant.hosting.HostTenants that describes a project's own tenants.
ASSISTANT_TENANTS = ""

# Whether SECRET_KEY was generated on this host; only this repository's own settings do that.
SECRET_KEY_IS_LOCAL = False
ENVIRONMENT_PROBLEMS = _env.problems

__all__ = [
    "ASSISTANT_LIBRARY",
    "ASSISTANT_TENANTS",
    "ENVIRONMENT_PROBLEMS",
    "FAST_PATHS",
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
    """Return the keys that encrypt fields if FIELD_ENCRYPTION_KEYS is not set."""
    return [base64.urlsafe_b64encode(hashlib.sha256(b"field-encryption:" + secret_key.encode()).digest()).decode()]


def missing_from(settings: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and default of each of these settings that a project does not define."""
    for name in __all__:
        if not hasattr(settings, name):
            value = globals()[name]
            is_derived = name == "FIELD_ENCRYPTION_KEYS" and not value
            yield name, keys_from(settings.SECRET_KEY) if is_derived else value
