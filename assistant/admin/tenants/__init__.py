"""Tenants, people and end users."""

from assistant.admin.tenants import endusers, tenants, users

__all__ = ["endusers", "tenants", "users"]
