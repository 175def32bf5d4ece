"""A browser of one user at a running server, with the interface of Django's test client."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx2
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils.http import urlencode

CSRF = "c" * 32


@dataclass(frozen=True)
class Response:
    """A complete response."""

    status_code: int
    headers: dict[str, str]
    content: bytes
    streaming: bool = False


@dataclass
class Visitor:
    """Sends requests as `user`, with the CSRF token that their pages would send, or with an API key instead."""

    url: str
    user: User | None = None
    key: str = ""
    raise_request_exception: bool = False
    _cookies: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._client = httpx2.Client(base_url=self.url, timeout=60)
        self._cookies["csrftoken"] = CSRF
        if self.user is not None:
            browser = Client()
            browser.force_login(self.user)
            self._cookies[settings.SESSION_COOKIE_NAME] = browser.cookies[settings.SESSION_COOKIE_NAME].value

    def request(
        self, method: str, path: str, *, data: Any = None, content_type: str = "application/x-www-form-urlencoded"
    ) -> Response:
        """Send one request, without redirects or new cookies, so that signing out has no effect here."""
        headers = {"X-CSRFToken": CSRF, "Cookie": "; ".join(f"{k}={v}" for k, v in self._cookies.items())}
        if self.key:
            headers = {"Authorization": f"Bearer {self.key}"}
        body: str | None = None
        if data is not None:
            headers["Content-Type"] = content_type
            body = json.dumps(data) if content_type == "application/json" else urlencode(data, doseq=True)
        answer = self._client.request(method, path, headers=headers, content=body)
        self._client.cookies.clear()
        return Response(answer.status_code, dict(answer.headers), answer.content)

    def __getattr__(self, name: str) -> Any:
        if name not in {"get", "post", "put", "patch", "delete"}:
            raise AttributeError(name)
        return lambda path, **options: self.request(name.upper(), path, **options)
