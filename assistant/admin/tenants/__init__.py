"""Tenants, people and end users."""

from assistant.admin.tenants import endusers, members, roles, tenants, users

__all__ = ["endusers", "members", "roles", "tenants", "users"]
