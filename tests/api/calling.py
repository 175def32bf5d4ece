"""Calls the REST API as members do: with a key, in this process or over a real server."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from assistant.models import Tenant
from assistant.services.tenancy.members import create_api_key


def key_of(tenant: Tenant, user: User, **options: Any) -> str:
    """A new API key of a member."""
    return create_api_key(tenant=tenant, user=user, name="test", **options)[1]


class Caller:
    """A client with an API key; paths are relative to the tenant's URL."""

    def __init__(self, tenant: Tenant, user: User, **options: Any) -> None:
        self.base = f"/api/v1/tenants/{tenant.slug}/"
        self.key = key_of(tenant, user, **options)
        self._client = Client(headers={"Authorization": f"Bearer {self.key}"}, raise_request_exception=False)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """Send a request with `body` as JSON; bytes are sent unchanged."""
        data = body if body is not None else ({} if method == "get" else b"")
        options = {} if method == "get" else {"content_type": "application/json"}
        path = path if path.startswith("/") else self.base + path
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return getattr(self._client, method)(path, data, headers=sent, **options)  # type: ignore[no-any-return]

    def get(self, path: str, **query: Any) -> HttpResponse:
        return self("get", path, query)
