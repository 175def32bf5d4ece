"""Calls of tools outside of runs: which are offered, who may approve them, and how they end."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.contrib.mcp_server import direct_journal
from assistant.contrib.mcp_server.direct_call import call_tool, tools_for
from assistant.contrib.mcp_server.direct_journal import expire_calls, record_call_end, settle_approval
from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.core.values.messages import ToolCall as Call
from assistant.models import ToolCall
from assistant.services.db.clock import ClockWatch, DatabaseTime, database_time
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.tenancy.members import Member, find_member
from assistant.services.toolcalls.approvers import OwnApproval
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import block_tool
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.contrib.later_results.waiting import tokens, tools_of_acme
from tests.factories import switch_tool
from tests.services.conversations.test_conversations import member_of
from tests.services.db.test_clock import DAY, HOUR, reading, watched
from tests.services.runs.test_four_eyes import four_eyes

__all__ = ["four_eyes"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_outside_of_a_run_nobody_can_approve_it(cast: Cast, four_eyes: None, alice_member: Member) -> None:
    waiting = {"tenant": cast.acme, "user": cast.alice, "status": ToolCall.Status.AWAITING_APPROVAL, "name": "erase"}
    call = ToolCall.objects.create(call_id="c", **waiting)
    with pytest.raises(OwnApproval) as refused:
        settle_approval(member=alice_member, call_id="c", approved=True)
    assert isinstance(refused.value, Refused) and refused.value.code == "approval_forbidden"
    call.refresh_from_db()
    assert call.status == ToolCall.Status.AWAITING_APPROVAL
    assert settle_approval(member=alice_member, call_id="c", approved=False)


def test_a_jump_ends_no_call_outside_of_runs(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    ToolCall.objects.create(tenant=cast.acme, user=cast.alice, call_id="c", name="pay")
    ToolCall.objects.update(started_at=DatabaseTime(-DAY))
    monkeypatch.setattr(direct_journal, "clock_watch", watched(reading(ago=60, ahead=-DAY), reading(ago=1)))
    assert expire_calls() == 0
    monkeypatch.setattr(direct_journal, "clock_watch", ClockWatch())
    assert expire_calls() == 1


@pytest.mark.parametrize("behind", [HOUR, DAY])
def test_an_approval_that_a_host_with_an_older_time_asks_for_is_of_now(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, behind: float
) -> None:
    asked = ToolOutcome(Call("d", "pay", "{}"), "awaiting_approval", "")
    member = member_of(cast.alice, "acme")
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() - timedelta(seconds=behind))
    record_call_end(member=member, outcomes=[asked])
    monkeypatch.undo()
    assert abs((ToolCall.objects.get().started_at - database_time()).total_seconds()) < 30


async def test_outside_of_a_conversation_it_is_not_listed_and_refused(cast: Cast, alice_member: Member) -> None:
    tools = tools_of_acme(cast)
    await sync_to_async(tools.__enter__)()
    try:
        assert "ask_bank" not in {tool.name for tool in await tools_for(member=alice_member)}
        called = await call_tool(member=alice_member, call=Call("c1", "ask_bank", '{"question": "May we?"}'))
    finally:
        tools.__exit__(None, None, None)
    assert called.outcome.status == "refused" and not tokens


@tool(enabled_by_default=True)
def plain() -> str:
    """Do something."""
    return ""


async def test_a_tool_that_is_off_for_everyone_is_not_offered(cast: Cast, alice_member: Member) -> None:
    with catalogue.using(Registry([plain])):
        assert len(await tools_for(member=alice_member)) == 1
        await in_database(block_tool, actor=None, tool="plain", reason="Leaks addresses")
        assert not await tools_for(member=alice_member)


async def test_a_form_is_not_offered_where_none_can_be_shown(cast: Cast, alice_member: Member) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    assert "ask_user" not in {tool.name for tool in await tools_for(member=alice_member)}


released = threading.Event()


@tool(timeout=0.05)
def charge() -> str:
    """Charge."""
    released.wait(30)
    return "Charged 5 euro."


async def test_the_late_end_of_a_call_outside_of_a_run_is_added_to_its_row(cast: Cast) -> None:
    await sync_to_async(switch_tool)(cast.acme, "charge")
    alice = await sync_to_async(find_member)(user_id=cast.alice.pk, tenant_slug="acme")
    assert alice is not None
    released.clear()
    with catalogue.using(Registry([charge])):
        called = await call_tool(member=alice, call=Call("c1", "charge", "{}"))
    assert called.outcome.status == "timeout"
    released.set()
    async with asyncio.timeout(30):
        while not (row := await ToolCall.objects.aget(call_id="c1", tenant=cast.acme)).told:
            await asyncio.sleep(0.01)
    assert (row.status, row.result) == ("timeout", "Charged 5 euro.") and "was not waited for" in row.told
    assert "It completed after" in row.error
