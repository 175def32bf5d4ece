"""Providers, API keys, jobs and the audit trail."""

from assistant.contrib.panel.admin.settings import audit, jobs, keys, provider_pages

__all__ = ["audit", "jobs", "keys", "provider_pages"]
