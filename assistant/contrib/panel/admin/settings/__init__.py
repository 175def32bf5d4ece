"""Providers, MCP servers, API keys, webhooks, jobs and the audit trail."""

from assistant.contrib.panel.admin.settings import audit, jobs, keys, mcp_servers, providers, webhooks

__all__ = ["audit", "jobs", "keys", "mcp_servers", "providers", "webhooks"]
