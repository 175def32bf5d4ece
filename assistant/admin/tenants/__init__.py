"""Tenants, people and end users."""

from assistant.admin.tenants import endusers, members, tenants, users

__all__ = ["endusers", "members", "tenants", "users"]
