"""Addresses of a tenant in the REST API, for the core and for optional apps."""

from __future__ import annotations

from django.urls import URLPattern, path

from assistant.api.base import TenantView
from assistant.services.tenancy.scopes import REST

# Below the mount of `assistant.urls`, for the addresses of apps.
OF_TENANT = "api/v1/tenants/<slug:tenant>/"


def tenant_path(address: str, view: type[TenantView], name: str | None = None) -> URLPattern:
    """Return the address of a view below a tenant's, with the scopes that the table says."""
    return path(address, view.as_view(rules=REST[address]), name=name)
