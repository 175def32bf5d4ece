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
TENANT_WIRE_FORMATS = _env.words(
    "TENANT_WIRE_FORMATS",
    WIRE_FORMATS,
    problem=lambda word: (
        "" if word in (*WIRE_FORMATS, "none") else f"must be wire formats, of {', '.join(WIRE_FORMATS)}, or none"
    ),
)
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

# The bearer token for /metrics, which answers 404 without it, and how many tenants get a label of their own there.
METRICS_TOKEN = _env.key("METRICS_TOKEN")
METRICS_TENANTS = _env.number("METRICS_TENANTS", 0)

# Whether each process measures how long its event loop is held, and names the task that holds it.
LOOP_WATCH = _env.flag("LOOP_WATCH", True)

# Whether PostgreSQL limits statements to the visible tenants; `manage.py row_level_security` installs the policies.
ROW_LEVEL_SECURITY = _env.flag("ROW_LEVEL_SECURITY")

# Whether servers send the assistant's static files if no middleware does; otherwise a proxy or another host has to.
STATIC_FROM_SERVER = _env.flag("STATIC_FROM_SERVER", True)

# Whether servers apply retention; otherwise cron runs `apply_retention`.
RETENTION_FROM_SERVER = _env.flag("RETENTION_FROM_SERVER", True)

# For how many days records are kept if the tenant sets no period, and the longest period it can set; 0: no limit.
RETENTION_DEFAULT_DAYS = _env.number("RETENTION_DEFAULT_DAYS", 0)
RETENTION_MAX_DAYS = _env.number("RETENTION_MAX_DAYS", 0)

# Limits of reading one uploaded file, in a process of its own, and how many of these a server process has at once.
FILE_READ_SECONDS = _env.number("FILE_READ_SECONDS", 30, least=1)
FILE_READ_MEMORY_MB = _env.number("FILE_READ_MEMORY_MB", 512, least=128)
FILE_READ_PROCESSES = _env.number("FILE_READ_PROCESSES", 2, least=1)

# What may be attached to messages: kinds (none: nothing), MB of one file and of a tenant's together, files a message;
# for tenants without limits of their own. And the folder with the files, unless STORAGES has "attachments".
_KINDS = ("image", "pdf", "docx", "xlsx", "pptx", "text")
ATTACHMENT_KINDS = _env.words(
    "ATTACHMENT_KINDS",
    _KINDS,
    problem=lambda word: (
        "" if word in (*_KINDS, "none") else f"must be kinds of files, of {', '.join(_KINDS)}, or none"
    ),
)
ATTACHMENT_MB = _env.number("ATTACHMENT_MB", 20, least=1)
ATTACHMENTS_MB = _env.number("ATTACHMENTS_MB", 5_000)
ATTACHMENTS_PER_MESSAGE = _env.number("ATTACHMENTS_PER_MESSAGE", 10, least=1)
ATTACHMENTS_DIR = _env.text("ATTACHMENTS_DIR")

# Limits by name for tenants, for each of their members and for each of their end users, without limits of their own.
TENANT_LIMITS = _env.limits("TENANT_LIMITS", {"connections": 5000, "runs": 100})
MEMBER_LIMITS = _env.limits("MEMBER_LIMITS", {"connections": 2000, "runs": 50})
END_USER_LIMITS = _env.limits("END_USER_LIMITS", {"messages_per_minute": 30, "connections": 20, "runs": 5})
# Runs of all tenants at once in one server process; 0: no limit.
MAX_RUNS = _env.number("MAX_RUNS", 200)
# How long a run above a limit of runs at once waits for its turn; 0: it is refused at once.
RUN_QUEUE_SECONDS = _env.number("RUN_QUEUE_SECONDS", 60)
# The process's part of the work, and whether web processes start runs while they have room or workers alone do.
ASSISTANT_ROLE = _env.choice("ASSISTANT_ROLE", "all", ("all", "web", "worker"))
RUNS_ON = _env.choice("RUNS_ON", "web", ("web", "workers"))
# How often another process goes on with a run whose process has died; 0: it ends as interrupted.
RUN_RESUMES = _env.number("RUN_RESUMES", 3)
# Open websockets and event streams of all tenants in one server process; 0: no limit.
MAX_CONNECTIONS = _env.number("MAX_CONNECTIONS", 10_000)
# Requests of synchronous views at once in one server process; each has a thread and a database connection.
MAX_SYNC_VIEWS = _env.number("MAX_SYNC_VIEWS", 16, least=1)
# Whether sign-ins with a password are limited by user name and address, and recorded.
SIGN_IN_LIMITS = _env.flag("SIGN_IN_LIMITS", True)
# For how many days an invitation to a tenant can be accepted; 0: nobody can be invited.
INVITATION_DAYS = _env.number("INVITATION_DAYS", 7)
# Whether drafts of prompts can be tried in test chats, and compared with what is published.
PROMPT_TESTS = _env.flag("PROMPT_TESTS", True)
# Whether tenants are warned when a part of their monthly limit of cost is used.
SPEND_WARNINGS = _env.flag("SPEND_WARNINGS", True)
# Whether tools may wait for results from outside; and this site's address, with which the addresses for these begin.
PENDING_CALLS, PUBLIC_URL = _env.flag("PENDING_CALLS", True), _env.url("PUBLIC_URL")
# Whether tenants have names, colours and images of their own in the chat and in the widget.
TENANT_BRANDS = _env.flag("TENANT_BRANDS", True)
# Whether models are asked for titles of conversations, and for follow-up questions, where assistants have that on.
GENERATED_TITLES = _env.flag("GENERATED_TITLES", True)
FOLLOW_UP_QUESTIONS = _env.flag("FOLLOW_UP_QUESTIONS", True)
# Bytes of a request's body, and of one where files are uploaded: at forms of the admin that have a file field, and at
# paths that begin with one of these. The APIs have a bound of their own.
MAX_BODY_BYTES = _env.number("MAX_BODY_BYTES", 2_621_440, least=1)
MAX_UPLOAD_BYTES = _env.number("MAX_UPLOAD_BYTES", 24 * 1024 * 1024, least=1)
UPLOAD_PATHS = _env.paths("UPLOAD_PATHS")
# A body ends after so many seconds without a byte, or if it comes more slowly than so many bytes a second.
BODY_TIMEOUT_SECONDS = _env.number("BODY_TIMEOUT_SECONDS", 15, least=1)
MIN_BODY_RATE = _env.number("MIN_BODY_RATE", 1_000, least=1)
# Prices of a million tokens of the deployment's provider, by model.
MODEL_PRICES = _env.prices("MODEL_PRICES")

# Whether what providers give with messages for themselves, such as reasoning between tool calls, is encrypted.
ENCRYPT_PROVIDER_STATE = _env.flag("ENCRYPT_PROVIDER_STATE")

# Whether spans contain messages, arguments and results, and not just names, tokens and durations.
TRACE_CONTENT = _env.flag("TRACE_CONTENT")

# The parts of the tool library that are on: families (clock, calculator, weather, knowledge, questions, reminders),
# names of tools, or "all". None by default in a project that installs the app.
ASSISTANT_LIBRARY = _env.words("ASSISTANT_LIBRARY")

# Whether code that relies on the internals of other packages is used to save time (assistant.toolkit.fast_paths).
FAST_PATHS = _env.flag("FAST_PATHS", True)

# Whether whole prompts and replies are logged (assistant.core.extensions.prompt_log).
LOG_PROMPTS = _env.flag("LOG_PROMPTS", False)

# Whether functions without a docstring are tools, described by their name (assistant.toolkit.describe_by_name).
DESCRIBE_TOOLS_BY_NAME = _env.flag("DESCRIBE_TOOLS_BY_NAME", False)

# Dotted names of interceptors of every tool call and every model request, the outermost first.
TOOL_INTERCEPTORS = _env.words("TOOL_INTERCEPTORS")
MODEL_INTERCEPTORS = _env.words("MODEL_INTERCEPTORS")

# The project's template, with the blocks of docs/saas.md, in which the chat's pages are shown; none: they are pages of
# their own. And where their button signs people out, if not here: an address or the name of a URL.
ASSISTANT_BASE_TEMPLATE = _env.text("ASSISTANT_BASE_TEMPLATE")
ASSISTANT_LOGOUT_URL = _env.text("ASSISTANT_LOGOUT_URL")

# The dotted name of the subclass of assistant.hosting.HostTenants that describes a project's own tenants.
ASSISTANT_TENANTS = ""

# Whether SECRET_KEY was generated on this host; only this repository's own settings do that.
SECRET_KEY_IS_LOCAL = False
ENVIRONMENT_PROBLEMS = _env.problems
SETTINGS_PROBLEMS: list[tuple[str, str]] = []

__all__ = [
    "ASSISTANT_BASE_TEMPLATE",
    "ASSISTANT_LIBRARY",
    "ASSISTANT_LOGOUT_URL",
    "ASSISTANT_ROLE",
    "ASSISTANT_TENANTS",
    "ATTACHMENTS_DIR",
    "ATTACHMENTS_MB",
    "ATTACHMENTS_PER_MESSAGE",
    "ATTACHMENT_KINDS",
    "ATTACHMENT_MB",
    "BODY_TIMEOUT_SECONDS",
    "DESCRIBE_TOOLS_BY_NAME",
    "ENCRYPT_PROVIDER_STATE",
    "END_USER_LIMITS",
    "ENVIRONMENT_PROBLEMS",
    "FAST_PATHS",
    "FIELD_ENCRYPTION_KEYS",
    "FILE_READ_MEMORY_MB",
    "FILE_READ_PROCESSES",
    "FILE_READ_SECONDS",
    "FOLLOW_UP_QUESTIONS",
    "GENERATED_TITLES",
    "INTERNAL_HOSTS",
    "INVITATION_DAYS",
    "LOCAL_MODEL_PATH",
    "LOCAL_MODEL_URL",
    "LOG_PROMPTS",
    "LOOP_WATCH",
    "MAX_BODY_BYTES",
    "MAX_CONNECTIONS",
    "MAX_RUNS",
    "MAX_SYNC_VIEWS",
    "MAX_UPLOAD_BYTES",
    "MCP_STDIO_COMMANDS",
    "MEMBER_LIMITS",
    "METRICS_TENANTS",
    "METRICS_TOKEN",
    "MIN_BODY_RATE",
    "MODEL_INTERCEPTORS",
    "MODEL_PRICES",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OPENAI_WIRE_FORMAT",
    "PENDING_CALLS",
    "PROMPT_TESTS",
    "PUBLIC_URL",
    "REDIS_URL",
    "RETENTION_DEFAULT_DAYS",
    "RETENTION_FROM_SERVER",
    "RETENTION_MAX_DAYS",
    "ROW_LEVEL_SECURITY",
    "RUNS_ON",
    "RUN_QUEUE_SECONDS",
    "RUN_RESUMES",
    "SECRET_KEY_IS_LOCAL",
    "SETTINGS_PROBLEMS",
    "SIGN_IN_LIMITS",
    "SPEND_WARNINGS",
    "STATIC_FROM_SERVER",
    "TENANT_BRANDS",
    "TENANT_LIMITS",
    "TENANT_WIRE_FORMATS",
    "TOOL_INTERCEPTORS",
    "TRACE_CONTENT",
    "UPLOAD_PATHS",
    "WEATHER_BASE_URL",
    "WEATHER_GEOCODING_URL",
]


def keys_from(secret_key: str) -> list[str]:
    """Return the keys that encrypt fields if FIELD_ENCRYPTION_KEYS is not set."""
    return [base64.urlsafe_b64encode(hashlib.sha256(b"field-encryption:" + secret_key.encode()).digest()).decode()]


def settled(settings: Any) -> Iterator[tuple[str, Any]]:
    """Yield each of these settings with its value: the project's own if it is right, otherwise the default.

    `SETTINGS_PROBLEMS`, which comes last, lists what is wrong with the project's own, as ENVIRONMENT_PROBLEMS does.
    """
    values, problems = _env.settled({name: globals()[name] for name in __all__}, settings)
    values["FIELD_ENCRYPTION_KEYS"] = values["FIELD_ENCRYPTION_KEYS"] or keys_from(settings.SECRET_KEY)
    yield from values.items()
    yield "SETTINGS_PROBLEMS", problems


def problems_of(settings: Any) -> list[str]:
    """Return a sentence for each wrong variable and for each wrong setting."""
    return sentences(settings.ENVIRONMENT_PROBLEMS, settings.SETTINGS_PROBLEMS)
