"""Tenants and people."""

from assistant.contrib.panel.admin.tenants import members, roles, tenants, users

__all__ = ["members", "roles", "tenants", "users"]
