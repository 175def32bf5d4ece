"""Tenants and people."""

from assistant.contrib.panel.admin.tenants import members, tenants, users

__all__ = ["members", "tenants", "users"]
