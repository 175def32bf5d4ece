"""How often a turn goes to the database with every tool of the library on: each time wakes a thread and the loop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from assistant.contrib.collections.models import Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.services.db.threads import FairThreads
from assistant.services.knowledge import overview
from assistant.services.knowledge.documents import add_document
from assistant.services.toolpolicy.catalogue import registry
from assistant.testing import ChatTester
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("provider")]
OF_A_TURN = ["open_run", "close_run"]
SEARCHES = {"_described", "_readable_ones"}


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that are called in the database threads for a tenant."""
    names: list[str] = []
    submit = FairThreads.submit

    def noted(self: FairThreads, share: str, work: Callable[[], Any]) -> Future[Any]:
        function = sys._getframe(1).f_locals.get("function")
        if share and function is not None:
            names.append(getattr(function, "func", function).__name__)
        return submit(self, share, work)

    monkeypatch.setattr(FairThreads, "submit", noted)
    return names


def turn(chat: ChatTester, fake_provider: FakeProvider) -> list[str]:
    """Take a turn; return the names of the tools that the model was offered."""
    fake_provider.reply("Here I am.")
    assert chat.ask("Hello").text == "Here I am."
    return [tool["function"]["name"] for tool in fake_provider.requests[-1].json["tools"]]


def test_a_turn_without_documents_opens_and_closes_a_run(
    cast: Cast, fake_provider: FakeProvider, called: list[str]
) -> None:
    overview._kept.clear()
    for tool in registry():
        switch_tool(cast.acme, tool.name)
    with ChatTester(cast.acme, cast.alice) as chat:
        turn(chat, fake_provider)
        called.clear()
        offered = turn(chat, fake_provider)
    assert {"search_docs", "search_collections"} <= set(offered)
    assert [name for name in called if name in {*OF_A_TURN, *SEARCHES}] == OF_A_TURN


def test_what_may_be_read_is_asked_with_every_turn_where_there_are_documents(
    cast: Cast, fake_provider: FakeProvider, called: list[str]
) -> None:
    overview._kept.clear()
    for name in ("search_docs", "search_collections"):
        switch_tool(cast.acme, name)
    document = add_document(tenant=cast.acme, title="Valves", text="A valve stops the water.", is_trusted=True)
    with ChatTester(cast.acme, cast.alice) as chat:
        turn(chat, fake_provider)
        assert "Valves" in str(fake_provider.requests[-1].json["tools"])
        closed = Collection.objects.create(tenant=cast.acme, name="Wages", roles=["admin"])
        place_documents(tenant=cast.acme, document_ids=[document.pk], collection=closed, actor=None)
        turn(chat, fake_provider)
    offered = str(fake_provider.requests[-1].json["tools"])
    assert "Valves" not in offered
    assert "Wages" not in offered
    assert called.count("_described") == called.count("_readable_ones") == 2
