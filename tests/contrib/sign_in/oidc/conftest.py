"""Sign-in by OpenID Connect is on in these tests, with a provider of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

import config.urls  # noqa: F401 - reads ASSISTANT_OIDC_ISSUER while it is imported: without it, as by default
from tests.contrib.sign_in.oidc.provider import CLIENT_ID, CLIENT_SECRET, Provider, serve


@pytest.fixture
def idp(settings: Any) -> Iterator[Provider]:
    """The provider, which the deployment's settings name."""
    provider = Provider()
    server = serve(provider)
    settings.ASSISTANT_OIDC_ISSUER = provider.url
    settings.ASSISTANT_OIDC_NAME = "Acme ID"
    settings.ASSISTANT_OIDC_CLIENT_ID = CLIENT_ID
    settings.ASSISTANT_OIDC_CLIENT_SECRET = CLIENT_SECRET
    settings.ROOT_URLCONF = "tests.contrib.sign_in.oidc.urls"
    cache.clear()
    yield provider
    server.shutdown()
    server.server_close()
