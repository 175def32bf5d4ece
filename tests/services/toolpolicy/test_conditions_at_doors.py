"""A tool's conditions hold at every door: an async no is a no, and a sync function may query the database."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client as Browser

from assistant.client import ChatClient
from assistant.client import ToolCall as Call
from assistant.models import Provider, Tenant, ToolCall
from assistant.providers import ScriptedModel
from assistant.services.tenancy.members import create_api_key
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry
from assistant.toolkit.context import TenantInfo
from tests.base import Cast
from tests.conditions import tools
from tests.factories import make_provider
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.mcp.talking import Client
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)

REFUSED = "The tool 'open_vault' may not be used now."


@pytest.fixture
def doors(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> Iterator[Server]:
    make_provider(cast.globex, base_url=fake_provider.url)
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_conditions"}) as server:
        yield server


def key_of(tenant: Tenant, user: User) -> str:
    return create_api_key(tenant=tenant, user=user, name="doors", scopes=["chat", "read", "tools"])[1]


def offered_in(provider: FakeProvider) -> set[str]:
    """The names of the tools in the first of the last two requests."""
    return set(provider.requests[-2].tool_names)


def tries(provider: FakeProvider, name: str = "open_vault", arguments: dict[str, Any] | None = None) -> None:
    provider.call(name, arguments or {})
    provider.reply("Done.")


async def over_websocket(server: Server, user: User, tenant: str) -> str:
    async with open_socket(server.url, user=user, tenant=tenant) as socket:
        frames = await socket.ask("Open it")
    (result,) = [frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"]
    return str(result)


async def over_http(server: Server, path: str, key: str, body: Any) -> str:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
        answer = await client.post(f"{server.url}{path}", json=body)
    assert answer.status_code < 300, answer.text
    return answer.text


async def test_an_async_no_is_a_no_at_every_door_and_a_yes_a_yes(
    doors: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    for tenant, user, is_allowed in ((cast.acme, cast.alice, False), (cast.globex, cast.mallory, True)):
        key = await sync_to_async(key_of)(tenant, user)
        base = f"/api/v1/tenants/{tenant.slug}/assistants/support"

        tries(fake_provider)
        said = await over_websocket(doors, user, tenant.slug)
        assert ("open_vault" in offered_in(fake_provider), said == "opened") == (is_allowed, is_allowed)
        assert is_allowed or said.startswith(REFUSED)

        tries(fake_provider)
        events = await over_http(doors, f"{base}/runs/", key, run_input("Open it"))
        assert ('"opened"' in events, REFUSED in events) == (is_allowed, not is_allowed)
        assert ("open_vault" in offered_in(fake_provider)) == is_allowed

        tries(fake_provider)
        asked = {"model": "support", "messages": [{"role": "user", "content": "Open it"}]}
        await over_http(doors, "/v1/chat/completions", key, asked)
        result = fake_provider.requests[-1].messages[-1]["content"]
        assert (result == "opened", result.startswith(REFUSED)) == (is_allowed, not is_allowed)

        mcp = Client(doors.url, key)
        assert ("open_vault" in await sync_to_async(mcp.tools)()) == is_allowed
        called = await sync_to_async(mcp.ask)("tools/call", {"name": "open_vault", "arguments": {}})
        assert ("opened" in json.dumps(called)) == is_allowed

        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
            listed = {one["name"]: one for one in (await client.get(f"{doors.url}{base}/tools/")).json()}
        assert listed["open_vault"]["policy"] == ("on" if is_allowed else "off")
        assert is_allowed or "“is_rival” said no" in listed["open_vault"]["rule"]
    ran = [slug async for slug in ToolCall.objects.filter(status="ok").values_list("tenant__slug", flat=True)]
    assert set(ran) == {"globex"}
    assert "never awaited" not in doors.log


def results_in(frames: list[Any]) -> list[str]:
    return [frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"]


async def test_sync_queries_decide_when_a_tool_is_offered_called_and_resumed(
    doors: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    async with open_socket(doors.url, user=cast.alice) as socket:
        tries(fake_provider, "count_members", {"slug": "globex"})
        assert results_in(await socket.ask("Count")) == ["two"]
        described = {one["function"]["name"]: one["function"] for one in fake_provider.requests[0].json["tools"]}
        assert described["count_members"]["description"] == "Count the 2 members of a tenant."
        for role, result in (("member", "two"), ("admin", "The tool 'count_members' may not be used now.")):
            tries(fake_provider, "count_members", {"slug": "acme"})
            frames = await socket.ask("Count")
            (interrupt,) = frames[-1]["outcome"]["interrupts"]
            await cast.acme.memberships.filter(user=cast.alice).aupdate(role=role)
            resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
            await socket.send(approved := run_input("", thread=frames[0]["threadId"], messages=[], resume=resume))
            (resumed,) = results_in(await socket.until_end(approved["runId"]))
            assert resumed.startswith(result)


async def test_a_destination_that_an_async_check_does_not_know_is_asked_about(
    doors: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    for to, is_known in (("alice", True), ("mallory", False)):
        fake_provider.call("read_letter", {})
        tries(fake_provider, "send_number", {"to": to})
        async with open_socket(doors.url, user=cast.alice) as socket:
            frames = await socket.ask("Do what the letter says")
        assert (f"sent to {to}" in results_in(frames)) == is_known
        assert bool(frames[-1]["outcome"].get("interrupts")) != is_known


@pytest.mark.parametrize(("slug", "result"), [("acme", REFUSED), ("globex", "opened")])
async def test_a_client_without_a_database_of_its_own_asks_too(cast: Cast, slug: str, result: str) -> None:
    tenant = cast.acme if slug == "acme" else cast.globex
    model = ScriptedModel([Call("", "open_vault", "{}"), "Done."])
    context = {"tenant": TenantInfo(id=tenant.pk, slug=slug)}
    reply = await ChatClient(model=model, tools=[tools.open_vault], context=context).call("Open it")
    (call,) = reply.tool_calls
    assert (call.result or call.error or "").startswith(result)
    assert [one.name for one in model.requests[0].tools] == (["open_vault"] if slug == "globex" else [])


@pytest.fixture
def own_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "registry", lambda: Registry([tools.open_vault, tools.count_members]))


@pytest.mark.usefixtures("own_catalogue")
@pytest.mark.parametrize(("slug", "name", "policy"), [("acme", "alice", "off"), ("globex", "mallory", "on ")])
def test_the_command_says_what_the_tool_says(cast: Cast, slug: str, name: str, policy: str) -> None:
    call_command("assistant_tools", "--tenant", slug, "--user", name, stdout=(told := io.StringIO()))
    (line,) = [line for line in told.getvalue().splitlines() if "open_vault" in line]
    assert line.startswith(policy) and ("“is_rival” said no" in line) == (slug == "acme")


@pytest.mark.usefixtures("own_catalogue")
@pytest.mark.parametrize("slug", ["acme", "globex"])
def test_simulate_shows_each_answer_with_its_time(cast: Cast, provider: Provider, slug: str) -> None:
    browser = Browser()
    browser.force_login(cast.root)
    user = "alice" if slug == "acme" else "mallory"
    page = browser.get(f"/admin/assistant/toolsetting/simulate/?tenant={slug}&assistant=support&user={user}")
    conditions = {one["name"]: one["condition"] for one in page.context_data["tools"]}
    states = {one["name"]: one["policy"] for one in page.context_data["tools"]}
    assert (states["open_vault"], page.context_data["allowed"]) == (("off", 1) if slug == "acme" else ("on", 2))
    said = "Hidden: “is_rival” said no, " if slug == "acme" else "“is_rival” said yes, "
    assert conditions["open_vault"].startswith(said) and conditions["open_vault"].endswith(" ms.")
    assert "“is_member” said yes" in conditions["count_members"]
    assert "“headcount” described it" in conditions["count_members"]
    assert conditions["open_vault"] in page.rendered_content.replace("&nbsp;", " ")
