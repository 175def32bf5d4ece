"""The template's own settings for development, and what docs/saas.md adds to them."""

from .local import *  # noqa: F403
from .local import INSTALLED_APPS

LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LANGUAGE_CODE = "en"
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS += [
    "accounts",
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
    "assistant.contrib.row_level_security",
    "assistant.contrib.evaluations",
    "assistant.contrib.demo",
    "assistant.contrib.timed",
    "assistant.contrib.receipts",
    "assistant.contrib.insights",
    "assistant.contrib.embeddings",
    "assistant.contrib.collections",
    "assistant.contrib.sessions",
    "assistant.contrib.conversation_exports",
    "assistant.contrib.branding",
    "assistant.contrib.data_exports",
    "assistant.contrib.file_reading",
    "assistant.contrib.shares",
    "assistant.contrib.reasons",
    "assistant.contrib.explanations",
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
    "assistant.contrib.end_users",
    "assistant.contrib.sign_in",
    "assistant.contrib.data",
]
ASSISTANT_TENANTS = "accounts.assistant.Accounts"
