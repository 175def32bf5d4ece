"""Tenants, people and end users."""

from assistant.admin.tenants import endusers, tenants

__all__ = ["endusers", "tenants"]
