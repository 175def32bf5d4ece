"""Providers, MCP servers, API keys, jobs and the audit trail."""

from assistant.contrib.panel.admin.settings import audit, jobs, keys, mcp_servers, provider_pages

__all__ = ["audit", "jobs", "keys", "mcp_servers", "provider_pages"]
