"""Stored tool lists are bounded, whatever a server sends, and decisions are kept."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.contrib.mcp_servers.models import McpCredential, McpServer, McpTool
from assistant.contrib.mcp_servers.services.tool_listings import MAX_ROWS, decide_tool, is_quarantined, store_listing
from assistant.mcp_client import Listing, RemoteFailure, ToolDefinition
from assistant.models import AuditEntry
from tests.base import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(cast: Cast) -> McpServer:
    return McpServer.objects.create(
        tenant=cast.acme, name="crm", prefix="crm", url="https://crm.example/", is_active=True
    )


def named(*names: str, description: str = "") -> list[ToolDefinition]:
    return [ToolDefinition(name, description=description) for name in names]


def random_names(number: int) -> list[ToolDefinition]:
    """A listing of 200 names that none before it had."""
    return named(*(f"tool_{number}_{one}" for one in range(200)))


def store(server: McpServer, tools: list[ToolDefinition], **more: Any) -> None:
    store_listing(tenant_id=server.tenant_id, server_id=server.pk, listing=Listing(tuple(tools)), **more)


def decide(server: McpServer, name: str, **ticks: bool) -> None:
    row = server.tools.get(name=name)
    ticks = {"is_allowed": False, "needs_approval": True, **ticks}
    decide_tool(actor=None, tenant_id=server.tenant_id, tool_id=row.pk, accepts=row.digest, **ticks)


def test_ever_new_names_do_not_accumulate_and_decisions_are_kept(server: McpServer) -> None:
    store(server, named("allow", "unasked", "plain"))
    decide(server, "allow", is_allowed=True)
    decide(server, "unasked", needs_approval=False)
    for number in range(3):
        store(server, random_names(number))
    kept = server.tools.exclude(name__startswith="tool_2")
    assert sorted(kept.values_list("name", "is_listed")) == [("allow", False), ("unasked", False)]
    assert server.tools.count() == 202
    store(server, named("allow"))
    assert server.tools.get(name="allow").is_listed and server.tools.get(name="allow").is_allowed


def test_what_was_decided_on_leaves_no_room_for_more_than_is_kept(server: McpServer) -> None:
    for number in range(2):
        store(server, random_names(number))
        server.tools.update(is_allowed=True)
    assert server.tools.count() == MAX_ROWS


def test_members_listings_together_are_kept_up_to_the_same_bound(cast: Cast, server: McpServer) -> None:
    own = McpCredential.objects.create(server=server, user=cast.alice)
    store(server, named("allow", "first"), credential_id=own.pk)
    decide(server, "allow", is_allowed=True)
    store(server, random_names(0)[:100], credential_id=own.pk)
    assert server.tools.count() == 102
    store(server, random_names(1), credential_id=own.pk)
    assert server.tools.count() == MAX_ROWS
    names = set(server.tools.values_list("name", flat=True))
    assert "allow" in names and "first" not in names
    assert {one.name for one in random_names(1)} <= names


def test_nothing_is_kept_of_a_server_that_is_off_but_when_it_is_tried(cast: Cast, server: McpServer) -> None:
    McpServer.objects.update(is_active=False)
    with pytest.raises(RemoteFailure) as caught:
        store(server, named("one"))
    assert caught.value.kind == "gone" and not McpTool.objects.exists()
    store(server, named("one"), by_operator=True)
    assert McpTool.objects.get().name == "one"


def test_a_tool_that_changes_back_and_forth_is_reported_once(server: McpServer) -> None:
    store(server, named("one"))
    decide(server, "one", is_allowed=True)
    for number in range(6):
        store(server, named("one", description=f"Version {number % 3}." if number % 3 else ""))
    assert AuditEntry.objects.filter(action="mcptool.quarantine", tenant=server.tenant).count() == 1


def test_what_one_member_is_offered_changes_nothing_for_another(cast: Cast, server: McpServer) -> None:
    own = McpCredential.objects.create(server=server, user=cast.alice)
    store(server, named("one"), credential_id=own.pk)
    decide(server, "one", is_allowed=True)
    store(server, named("one", description="For Alice."), credential_id=own.pk)
    assert not is_quarantined(server.tools.get())
    assert not AuditEntry.objects.filter(action="mcptool.quarantine").exists()


def test_what_the_operator_is_offered_is_what_they_decide_on(cast: Cast, server: McpServer) -> None:
    own = McpCredential.objects.create(server=server, user=cast.amy)
    store(server, named("one"), credential_id=own.pk)
    decide(server, "one", is_allowed=True)
    store(server, named("one", description="Changed."), credential_id=own.pk, by_operator=True)
    assert is_quarantined(server.tools.get())
    decide(server, "one", is_allowed=True)
    assert not is_quarantined(server.tools.get())
