"""Prompts and resources: the tenant's published prompts and documents, in order and in pages."""

from __future__ import annotations

import pytest

from assistant.models.knowledge import Document
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.factories import make_assistant
from tests.live import Server
from tests.mcp.talking import OLDER, Client

pytestmark = pytest.mark.django_db(transaction=True)


def test_prompts_are_the_published_ones_of_active_assistants(
    uvicorn_served: Server, cast: Cast, alice_key: str
) -> None:
    make_assistant(cast.acme, "retired", prompt="I am retired.", is_active=False)
    make_assistant(cast.acme, "unwritten")
    draft_prompt(assistant=cast.support, text="A draft that nobody may see.")
    alice = Client(uvicorn_served.url, alice_key)
    assert [prompt["name"] for prompt in alice.result("prompts/list")["prompts"]] == ["support"]
    [told] = alice.result("prompts/get", {"name": "support"})["messages"]
    assert told == {"role": "user", "content": {"type": "text", "text": "You are Acme's support assistant."}}
    publish_prompt(version=draft_prompt(assistant=cast.support, text="You are new."))
    assert alice.result("prompts/get", {"name": "support"})["messages"][0]["content"]["text"] == "You are new."
    for name in ("retired", "unwritten", "nobody"):
        assert alice.ask("prompts/get", {"name": name})["error"]["code"] == -32602


def test_a_prompt_with_variables_is_resolved_for_its_caller(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="You are {{ tenant.name }}'s. {{ user.name }}"))
    [told] = Client(uvicorn_served.url, alice_key).result("prompts/get", {"name": "support"})["messages"]
    assert told["content"]["text"].startswith("You are Acme's.") and "user.name: alice\n" in told["content"]["text"]


def test_resources_are_the_tenants_documents(
    uvicorn_served: Server, cast: Cast, alice_key: str, mallory_key: str
) -> None:
    add_document(tenant=cast.acme, title="Returns", text="# Returns\n\nWithin 30 days.")
    add_document(tenant=cast.acme, title="Hours", text="From nine to five.", kind=Document.Kind.TEXT)
    theirs = add_document(tenant=cast.globex, title="Rival", text="A secret.")
    alice = Client(uvicorn_served.url, alice_key)
    listed = alice.result("resources/list")["resources"]
    assert {(one["title"], one["mimeType"]) for one in listed} == {
        ("Returns", "text/markdown"),
        ("Hours", "text/plain"),
    }
    texts = {one["title"]: alice.result("resources/read", {"uri": one["uri"]})["contents"][0] for one in listed}
    assert "Within 30 days." in texts["Returns"]["text"] and texts["Hours"]["mimeType"] == "text/plain"
    [template] = alice.result("resources/templates/list")["resourceTemplates"]
    for uri in (
        template["uriTemplate"].replace("{number}", str(theirs.pk)),
        "knowledge://documents/../1",
        "file:///etc",
    ):
        assert alice.ask("resources/read", {"uri": uri})["error"] == {
            "code": -32602, "message": "Resource not found", "data": {"uri": uri},
        }  # fmt: skip
    older = Client(uvicorn_served.url, alice_key, version=OLDER)
    in_other_digits = listed[0]["uri"].translate({ord("0") + number: 0x660 + number for number in range(10)})
    for uri in ("knowledge://documents/0", in_other_digits):
        assert older.ask("resources/read", {"uri": uri})["error"]["code"] == -32002


def test_pages_contain_everything_once_and_in_order(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    Document.objects.bulk_create(Document(tenant=cast.acme, title=f"Paper {n}", text="x") for n in range(250))
    alice = Client(uvicorn_served.url, alice_key)
    pages, cursor = [], None
    while not pages or cursor:
        result = alice.result("resources/list", {"cursor": cursor} if cursor else None)
        pages.append([one["uri"] for one in result["resources"]])
        cursor = result.get("nextCursor")
    assert [len(one) for one in pages] == [100, 100, 50]
    together = [uri for one in pages for uri in one]
    assert together == sorted(set(together)) and len(together) == 250
    assert alice.ask("resources/list", {"cursor": "not one of ours"})["error"]["code"] == -32602


def test_lists_are_private_to_their_caller(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    add_document(tenant=cast.acme, title="Returns", text="Within 30 days.")
    alice = Client(uvicorn_served.url, alice_key)
    uri = alice.result("resources/list")["resources"][0]["uri"]
    asked = [(f"{kind}/list", None) for kind in ("tools", "prompts", "resources", "resources/templates")]
    for method, params in [*asked, ("resources/read", {"uri": uri}), ("server/discover", None)]:
        assert alice.result(method, params)["cacheScope"] == "private", method


def test_the_order_of_tools_never_changes(uvicorn_served: Server, alice_key: str) -> None:
    alice = Client(uvicorn_served.url, alice_key)
    first = alice.tools()
    assert first == sorted(first) and all(alice.tools() == first for _ in range(3))
