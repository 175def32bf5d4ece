"""Tenants, people and end users."""

from assistant.contrib.panel.admin.tenants import endusers, members, roles, tenants, users

__all__ = ["endusers", "members", "roles", "tenants", "users"]
