"""Providers, MCP servers, API keys, webhooks and the audit trail."""

from assistant.admin.settings import audit, keys, mcp_servers, providers, webhooks

__all__ = ["audit", "keys", "mcp_servers", "providers", "webhooks"]
