"""What a tenant's backend does for its pages: an allowed origin, a key, tokens for its end users."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from assistant.contrib.end_users.models import EndUser, WidgetOrigin
from assistant.models import Assistant
from tests.api.calling import Caller
from tests.base import Cast
from tests.ws import Socket, open_socket

SHOP = "https://shop.example.com"


def allow(assistant: Assistant, origin: str = SHOP) -> WidgetOrigin:
    """Let the pages of an origin show an assistant."""
    return WidgetOrigin.objects.create(tenant=assistant.tenant, assistant=assistant, origin=origin)


def backend(cast: Cast) -> Caller:
    """Acme's shop, with a key that may mint tokens and nothing else."""
    return Caller(cast.acme, cast.amy, scopes=["end_users"])


def token_for(shop: Caller, user_id: str, **fields: Any) -> str:
    """A token for one of the shop's customers."""
    answer = shop("post", "assistants/support/end-user-tokens/", {"user_id": user_id, **fields})
    assert answer.status_code == 201, answer.content
    return str(answer.json()["token"])


def end_user(external_id: str) -> EndUser:
    return EndUser.objects.get(external_id=external_id)


@asynccontextmanager
async def visit(url: str, token: str, *, origin: str | None = SHOP, **place: str) -> AsyncIterator[Socket]:
    """Open the websocket as a browser in a page of `origin` does."""
    async with open_socket(url, subprotocols=["agui.v1", f"bearer.{token}"], origin=origin, **place) as socket:
        yield socket
