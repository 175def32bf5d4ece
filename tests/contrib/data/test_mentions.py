"""`@` offers documents and tools that a member may use, and the model is told which are meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from assistant.models import Provider
from assistant.services.knowledge.documents import add_document
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.end_users.minting import allow, backend, token_for
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shelf(cast: Cast) -> Cast:
    """A document of each tenant, with the tools that read them."""
    for tenant in (cast.acme, cast.globex):
        add_document(tenant=tenant, title=f"Refunds of {tenant.name}", text="Within 30 days.")
        for tool in ("search_docs", "read_document"):
            switch_tool(tenant, tool)
    return cast


def offered(caller: Caller, search: str) -> list[tuple[str, str]]:
    answer = caller.get("assistants/support/rows/", search=search)
    assert answer.status_code == 200, answer.content
    return [(row["kind"], row["label"]) for row in answer.json()]


def test_documents_are_those_of_the_members_tenant(shelf: Cast) -> None:
    alice = Caller(shelf.acme, shelf.alice)
    assert offered(alice, "refund") == [("document", "Refunds of Acme")]
    assert offered(alice, "globex") == []
    assert offered(alice, "") == []
    mallory = Caller(shelf.globex, shelf.mallory)
    found = mallory.get("assistants/sales/rows/", search="refund")
    assert "Acme" not in found.content.decode()


def test_a_document_is_offered_where_a_tool_reads_it(shelf: Cast) -> None:
    for tool in ("search_docs", "read_document"):
        switch_tool(shelf.acme, tool, "off")
    assert offered(Caller(shelf.acme, shelf.alice), "refund") == []


def test_tools_are_those_that_the_assistant_may_use(shelf: Cast) -> None:
    alice = Caller(shelf.acme, shelf.alice)
    switch_tool(shelf.acme, "calculate")
    assert offered(alice, "calcul") == [("tool", "Calculate")]
    switch_tool(shelf.acme, "calculate", "off")
    assert offered(alice, "calcul") == []


def test_visitors_are_offered_neither(shelf: Cast) -> None:
    allow(shelf.support)
    token = token_for(backend(shelf), "dora")
    visitor = Caller(shelf.acme, shelf.alice)
    address = "assistants/support/rows/"
    found = visitor(
        "get", address, {"search": "refund"}, Authorization=f"Bearer {token}", Origin="https://shop.example.com"
    )
    assert (found.status_code, found.json()) == (200, [])


async def test_the_model_is_told_what_is_meant_and_what_is_off(
    shelf: Cast, uvicorn_server: Server, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(shelf.acme, "calculate")

    def references() -> list[dict[str, Any]]:
        alice = Caller(shelf.acme, shelf.alice)
        rows = [
            row for word in ("refund", "calcul") for row in alice.get("assistants/support/rows/", search=word).json()
        ]
        return [{"reference": row["reference"], "name": row["label"]} for row in rows]

    rows = await sync_to_async(references)()
    fake_provider.reply("Thirty days.")
    fake_provider.reply("I cannot.")
    async with (
        open_socket(uvicorn_server.url, user=shelf.alice) as socket,
        open_socket(uvicorn_server.url, user=shelf.amy) as amy,
    ):
        started = await socket.start("How long? @Refunds", forwardedProps={"rows": rows})
        await socket.until_end(started["runId"])
        sent = json.dumps(fake_provider.requests[-1].json["messages"])
        assert "Read it with read_document, id " in sent and "The tool calculate, called" in sent
        await sync_to_async(switch_tool)(shelf.acme, "calculate", "off")
        started = await socket.start("Sum? @Calculate", forwardedProps={"rows": rows[1:]})
        await socket.until_end(started["runId"])
        assert "is off. Say so" in json.dumps(fake_provider.requests[-1].json["messages"])
        # A reference is for the member that it was made for.
        await amy.send(run_input("How long?", forwardedProps={"rows": rows}))
        refused = await amy.until_type("RUN_ERROR")
        assert refused[-1]["code"] == "invalid_input"
