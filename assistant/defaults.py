"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

from assistant.core.values.wire_formats import CHAT_COMPLETIONS, WIRE_FORMATS
from assistant.environment import Environment, sentences

_env = Environment()

# The provider for assistants without a provider whose tenant has none either.
OPENAI_API_KEY = _env.key("OPENAI_API_KEY")
OPENAI_BASE_URL = _env.url("OPENAI_BASE_URL")
OPENAI_MODEL = _env.text("OPENAI_MODEL")
OPENAI_WIRE_FORMAT = _env.choice("OPENAI_WIRE_FORMAT", CHAT_COMPLETIONS, WIRE_FORMATS)
# The wire formats that tenants' own providers may speak; none: tenants have no providers of their own.
ASSISTANT_TENANT_WIRE_FORMATS = _env.words(
    "ASSISTANT_TENANT_WIRE_FORMATS",
    WIRE_FORMATS,
    problem=lambda word: (
        "" if word in (*WIRE_FORMATS, "none") else f"must be wire formats, of {', '.join(WIRE_FORMATS)}, or none"
    ),
)
ASSISTANT_LOCAL_MODEL_PATH = _env.file("ASSISTANT_LOCAL_MODEL_PATH")
# The address of `assistant_local_model serve`; `manage.py assistant_demo` sets it for the server that it starts.
ASSISTANT_LOCAL_MODEL_URL = _env.url("ASSISTANT_LOCAL_MODEL_URL")

# Fernet keys for stored secrets: the first one encrypts, all decrypt. Without any, a key is derived from SECRET_KEY.
ASSISTANT_FIELD_ENCRYPTION_KEYS = _env.fernet_keys("ASSISTANT_FIELD_ENCRYPTION_KEYS")

# Internal hosts that tenants' providers and MCP servers may use. By default they must be on the public Internet.
ASSISTANT_INTERNAL_HOSTS = _env.internal_hosts("ASSISTANT_INTERNAL_HOSTS")

# Whether servers send the assistant's static files if no middleware does; otherwise a proxy or another host has to.
ASSISTANT_STATIC_FROM_SERVER = _env.flag("ASSISTANT_STATIC_FROM_SERVER", True)

# Whether servers apply retention; otherwise cron runs `assistant_apply_retention`.
ASSISTANT_RETENTION_FROM_SERVER = _env.flag("ASSISTANT_RETENTION_FROM_SERVER", True)

# For how many days records are kept if the tenant sets no period, and the longest period it can set; 0: no limit.
ASSISTANT_RETENTION_DEFAULT_DAYS = _env.number("ASSISTANT_RETENTION_DEFAULT_DAYS", 0)
ASSISTANT_RETENTION_MAX_DAYS = _env.number("ASSISTANT_RETENTION_MAX_DAYS", 0)

# How long one uploaded file may take to be read, and how many are read at once in a server process.
ASSISTANT_FILE_READ_SECONDS = _env.number("ASSISTANT_FILE_READ_SECONDS", 30, least=1)
ASSISTANT_FILE_READ_PROCESSES = _env.number("ASSISTANT_FILE_READ_PROCESSES", 2, least=1)

# What may be attached to messages: kinds (none: nothing), MB of one file and of a tenant's together, files a message;
# for tenants without limits of their own. And the folder with the files, unless STORAGES has "attachments".
_KINDS = ("image", "pdf", "docx", "xlsx", "pptx", "text")
ASSISTANT_ATTACHMENT_KINDS = _env.words(
    "ASSISTANT_ATTACHMENT_KINDS",
    _KINDS,
    problem=lambda word: (
        "" if word in (*_KINDS, "none") else f"must be kinds of files, of {', '.join(_KINDS)}, or none"
    ),
)
ASSISTANT_ATTACHMENT_MB = _env.number("ASSISTANT_ATTACHMENT_MB", 20, least=1)
ASSISTANT_ATTACHMENTS_MB = _env.number("ASSISTANT_ATTACHMENTS_MB", 5_000)
ASSISTANT_ATTACHMENTS_PER_MESSAGE = _env.number("ASSISTANT_ATTACHMENTS_PER_MESSAGE", 10, least=1)
ASSISTANT_ATTACHMENTS_DIR = _env.text("ASSISTANT_ATTACHMENTS_DIR")

# Limits by name for tenants, for each of their members and for each of their end users, without limits of their own.
ASSISTANT_TENANT_LIMITS = _env.limits("ASSISTANT_TENANT_LIMITS", {"connections": 5000, "runs": 100})
ASSISTANT_MEMBER_LIMITS = _env.limits("ASSISTANT_MEMBER_LIMITS", {"connections": 2000, "runs": 50})
ASSISTANT_END_USER_LIMITS = _env.limits(
    "ASSISTANT_END_USER_LIMITS", {"messages_per_minute": 30, "connections": 20, "runs": 5}
)
# Runs of all tenants at once in one server process; 0: no limit.
ASSISTANT_MAX_RUNS = _env.number("ASSISTANT_MAX_RUNS", 200)
# How long a run above a limit of runs at once waits for its turn; 0: it is refused at once.
ASSISTANT_RUN_QUEUE_SECONDS = _env.number("ASSISTANT_RUN_QUEUE_SECONDS", 60)
# The process's part of the work, and whether web processes start runs while they have room or workers alone do.
ASSISTANT_ROLE = _env.choice("ASSISTANT_ROLE", "all", ("all", "web", "worker"))
ASSISTANT_RUNS_ON = _env.choice("ASSISTANT_RUNS_ON", "web", ("web", "workers"))
# How often another process goes on with a run whose process has died; 0: it ends as interrupted.
ASSISTANT_RUN_RESUMES = _env.number("ASSISTANT_RUN_RESUMES", 3)
# Open websockets and event streams of all tenants in one server process; 0: no limit.
ASSISTANT_MAX_CONNECTIONS = _env.number("ASSISTANT_MAX_CONNECTIONS", 10_000)
# Requests of synchronous views at once in one server process; each has a thread and a database connection.
ASSISTANT_MAX_SYNC_VIEWS = _env.number("ASSISTANT_MAX_SYNC_VIEWS", 16, least=1)
# Whether sign-ins with a password are limited by user name and address, and recorded.
ASSISTANT_SIGN_IN_LIMITS = _env.flag("ASSISTANT_SIGN_IN_LIMITS", True)
# Whether drafts of prompts can be tried in test chats, and compared with what is published.
ASSISTANT_PROMPT_TESTS = _env.flag("ASSISTANT_PROMPT_TESTS", True)
# This site's address, with which addresses begin that are handed to others.
ASSISTANT_PUBLIC_URL = _env.url("ASSISTANT_PUBLIC_URL")
# Bytes of a request's body, and of one where files are uploaded: at forms of the admin that have a file field, and at
# paths that begin with one of these. The APIs have a bound of their own.
ASSISTANT_MAX_BODY_BYTES = _env.number("ASSISTANT_MAX_BODY_BYTES", 2_621_440, least=1)
ASSISTANT_MAX_UPLOAD_BYTES = _env.number("ASSISTANT_MAX_UPLOAD_BYTES", 24 * 1024 * 1024, least=1)
ASSISTANT_UPLOAD_PATHS = _env.paths("ASSISTANT_UPLOAD_PATHS")
# Prices of a million tokens of the deployment's provider, by model.
ASSISTANT_MODEL_PRICES = _env.prices("ASSISTANT_MODEL_PRICES")
# What all costs are in: the currency of the prices.
ASSISTANT_CURRENCY = _env.text("ASSISTANT_CURRENCY", "USD")

# Whether what providers give with messages for themselves, such as reasoning between tool calls, is encrypted.
ASSISTANT_ENCRYPT_PROVIDER_STATE = _env.flag("ASSISTANT_ENCRYPT_PROVIDER_STATE")

# The parts of the tool library that are on: families (knowledge, web_search, those of apps),
# names of tools, or "all". None by default in a project that installs the app.
ASSISTANT_LIBRARY = _env.words("ASSISTANT_LIBRARY")

# Whether code that relies on the internals of other packages is used to save time (assistant.toolkit.fast_paths).
ASSISTANT_FAST_PATHS = _env.flag("ASSISTANT_FAST_PATHS", True)


# Dotted names of interceptors of every tool call and every model request, the outermost first.
ASSISTANT_TOOL_INTERCEPTORS = _env.words("ASSISTANT_TOOL_INTERCEPTORS")
ASSISTANT_MODEL_INTERCEPTORS = _env.words("ASSISTANT_MODEL_INTERCEPTORS")

# The project's template, with the blocks of docs/saas.md, in which the chat's pages are shown; none: they are pages of
# their own. And where their button signs people out, if not here: an address or the name of a URL.
ASSISTANT_BASE_TEMPLATE = _env.text("ASSISTANT_BASE_TEMPLATE")
ASSISTANT_LOGOUT_URL = _env.text("ASSISTANT_LOGOUT_URL")

# The dotted name of the subclass of assistant.hosting.HostTenants that describes a project's own tenants.
ASSISTANT_TENANTS = ""

# Whether SECRET_KEY was generated on this host; only this repository's own settings do that.
ASSISTANT_SECRET_KEY_IS_LOCAL = False
ASSISTANT_ENVIRONMENT_PROBLEMS = _env.problems
ASSISTANT_SETTINGS_PROBLEMS: list[tuple[str, str]] = []

__all__ = [
    "ASSISTANT_ATTACHMENTS_DIR",
    "ASSISTANT_ATTACHMENTS_MB",
    "ASSISTANT_ATTACHMENTS_PER_MESSAGE",
    "ASSISTANT_ATTACHMENT_KINDS",
    "ASSISTANT_ATTACHMENT_MB",
    "ASSISTANT_BASE_TEMPLATE",
    "ASSISTANT_CURRENCY",
    "ASSISTANT_ENCRYPT_PROVIDER_STATE",
    "ASSISTANT_END_USER_LIMITS",
    "ASSISTANT_ENVIRONMENT_PROBLEMS",
    "ASSISTANT_FAST_PATHS",
    "ASSISTANT_FIELD_ENCRYPTION_KEYS",
    "ASSISTANT_FILE_READ_PROCESSES",
    "ASSISTANT_FILE_READ_SECONDS",
    "ASSISTANT_INTERNAL_HOSTS",
    "ASSISTANT_LIBRARY",
    "ASSISTANT_LOCAL_MODEL_PATH",
    "ASSISTANT_LOCAL_MODEL_URL",
    "ASSISTANT_LOGOUT_URL",
    "ASSISTANT_MAX_BODY_BYTES",
    "ASSISTANT_MAX_CONNECTIONS",
    "ASSISTANT_MAX_RUNS",
    "ASSISTANT_MAX_SYNC_VIEWS",
    "ASSISTANT_MAX_UPLOAD_BYTES",
    "ASSISTANT_MEMBER_LIMITS",
    "ASSISTANT_MODEL_INTERCEPTORS",
    "ASSISTANT_MODEL_PRICES",
    "ASSISTANT_PROMPT_TESTS",
    "ASSISTANT_PUBLIC_URL",
    "ASSISTANT_RETENTION_DEFAULT_DAYS",
    "ASSISTANT_RETENTION_FROM_SERVER",
    "ASSISTANT_RETENTION_MAX_DAYS",
    "ASSISTANT_ROLE",
    "ASSISTANT_RUNS_ON",
    "ASSISTANT_RUN_QUEUE_SECONDS",
    "ASSISTANT_RUN_RESUMES",
    "ASSISTANT_SECRET_KEY_IS_LOCAL",
    "ASSISTANT_SETTINGS_PROBLEMS",
    "ASSISTANT_SIGN_IN_LIMITS",
    "ASSISTANT_STATIC_FROM_SERVER",
    "ASSISTANT_TENANTS",
    "ASSISTANT_TENANT_LIMITS",
    "ASSISTANT_TENANT_WIRE_FORMATS",
    "ASSISTANT_TOOL_INTERCEPTORS",
    "ASSISTANT_UPLOAD_PATHS",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OPENAI_WIRE_FORMAT",
]


def keys_from(secret_key: str) -> list[str]:
    """Return the keys that encrypt fields if ASSISTANT_FIELD_ENCRYPTION_KEYS is not set."""
    return [base64.urlsafe_b64encode(hashlib.sha256(b"field-encryption:" + secret_key.encode()).digest()).decode()]


def settled(settings: Any) -> Iterator[tuple[str, Any]]:
    """Yield each of these settings with its value: the project's own if it is right, otherwise the default.

    `ASSISTANT_SETTINGS_PROBLEMS`, which comes last, lists what is wrong with the project's own, as
    `ASSISTANT_ENVIRONMENT_PROBLEMS` does.
    """
    values, problems = _env.settled({name: globals()[name] for name in __all__}, settings)
    values["ASSISTANT_FIELD_ENCRYPTION_KEYS"] = values["ASSISTANT_FIELD_ENCRYPTION_KEYS"] or keys_from(
        settings.SECRET_KEY
    )
    yield from values.items()
    yield "ASSISTANT_SETTINGS_PROBLEMS", problems


def problems_of(settings: Any) -> list[str]:
    """Return a sentence for each wrong variable and for each wrong setting."""
    return sentences(settings.ASSISTANT_ENVIRONMENT_PROBLEMS, settings.ASSISTANT_SETTINGS_PROBLEMS)
