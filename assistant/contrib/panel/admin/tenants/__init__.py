"""Tenants, people and end users."""

from assistant.contrib.panel.admin.tenants import endusers, members, tenants, users

__all__ = ["endusers", "members", "tenants", "users"]
