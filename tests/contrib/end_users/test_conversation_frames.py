"""The widget lists the newest conversations of whoever it speaks for, with its assistant alone."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from tests.base import Cast
from tests.contrib.end_users.minting import allow, backend, end_user, token_for, visit
from tests.factories import make_assistant, make_conversation
from tests.live import Server
from tests.ws import Socket, open_socket

pytestmark = pytest.mark.django_db(transaction=True)


async def listed(socket: Socket) -> list[str]:
    await socket.send({"type": "conversations"})
    frame: Any = await socket.until_custom("conversations")
    return [entry["title"] for entry in frame["value"]["entries"]]


async def test_a_member_gets_their_own_and_nobody_elses(uvicorn_server: Server, cast: Cast) -> None:
    def make() -> None:
        for title in ("First", "Second"):
            make_conversation(cast.alice, cast.support, title=title, message_count=2)
        make_conversation(cast.alice, cast.support, title="Empty")
        make_conversation(cast.alice, cast.support, title="Archived", message_count=2, archived_at=timezone.now())
        make_conversation(cast.alice, cast.support, title="Temporary", message_count=2, is_temporary=True)
        make_conversation(cast.amy, cast.support, title="Amy's", message_count=2)

    await sync_to_async(make)()
    async with (
        open_socket(uvicorn_server.url, user=cast.alice) as alice,
        open_socket(uvicorn_server.url, user=cast.mallory, tenant="globex") as mallory,
    ):
        assert await listed(alice) == ["Second", "First"]
        assert await listed(mallory) == []


async def test_a_visitor_gets_their_own_with_the_assistant_of_the_page(uvicorn_server: Server, cast: Cast) -> None:
    def make() -> str:
        allow(cast.support)
        token = token_for(backend(cast), "dora")
        token_for(backend(cast), "emil")
        dora = end_user("dora").user
        make_conversation(dora, cast.support, title="Dora's", message_count=2)
        make_conversation(dora, make_assistant(cast.acme, "other"), title="Elsewhere", message_count=2)
        make_conversation(end_user("emil").user, cast.support, title="Emil's", message_count=2)
        return token

    token = await sync_to_async(make)()
    async with visit(uvicorn_server.url, token) as socket:
        assert await listed(socket) == ["Dora's"]
