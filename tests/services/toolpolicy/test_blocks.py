"""The deployment's off switch of a tool takes precedence everywhere, says so, and ends by the database's clock."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from assistant.core.values.messages import ToolCall
from assistant.models import AuditEntry, ToolBlock
from assistant.services.db.clock import database_time
from assistant.services.db.threads import in_database
from assistant.services.runs.opening.opening_query import read_opening_state
from assistant.services.tenancy import change_notices
from assistant.services.tenancy.members import Member, find_member
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import block_tool, read_blocks, unblock_tool
from assistant.services.toolpolicy.policy import EffectiveTool, effective_tools
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.toolkit import Registry, tool
from tests.base import Cast, make_cast
from tests.factories import switch_tool

pytestmark = pytest.mark.django_db
RULE = "Off in the whole deployment: Leaks addresses."


@tool(enabled_by_default=True)
def plain() -> str:
    """Do something."""
    return ""


@pytest.fixture(autouse=True)
def tools() -> Iterator[None]:
    with catalogue.using(Registry([plain])):
        yield


def off(**end: object) -> None:
    block_tool(actor=None, tool="plain", reason="Leaks addresses", **end)  # type: ignore[arg-type]


def effective(cast: Cast, user: object = None) -> EffectiveTool:
    who = user or cast.alice
    (found,) = effective_tools(tenant_id=cast.acme.pk, user_id=who.pk, assistant_id=cast.support.pk)  # type: ignore[attr-defined]
    return found


def member(cast: Cast) -> Member:
    found = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert found is not None
    return found


def test_it_takes_precedence_over_every_switch_and_over_what_is_read(cast: Cast) -> None:
    switch_tool(cast.acme, "plain", "on")
    switch_tool(cast.acme, "plain", "on", assistant=cast.support)
    off()
    assert (effective(cast).policy, effective(cast).rule) == ("off", RULE)
    assert unblock_tool(actor=None, tool="plain")
    assert effective(cast).policy == "on"


def test_the_rule_names_the_end(cast: Cast) -> None:
    off(lasts=timedelta(hours=2))
    end = ToolBlock.objects.get().until
    assert end is not None
    assert effective(cast).rule == f"Off in the whole deployment until {end:%Y-%m-%d %H:%M} UTC: Leaks addresses."


def test_it_ends_by_the_databases_clock(cast: Cast) -> None:
    off(lasts=timedelta(hours=1))
    assert effective(cast).policy == "off"
    ToolBlock.objects.update(until=database_time() - timedelta(seconds=1))
    assert effective(cast).policy == "on"
    assert not read_blocks()
    assert not unblock_tool(actor=None, tool="plain")
    assert not ToolBlock.objects.exists()


def test_a_new_run_reads_it_with_its_first_query(cast: Cast) -> None:
    off()
    state = read_opening_state(member(cast), "support", uuid.uuid4())
    assert state is not None
    assert state.switches.stored.blocks["plain"].rule == RULE


@pytest.mark.django_db(transaction=True)
async def test_it_applies_to_running_runs_and_listings() -> None:
    cast = await in_database(make_cast)
    run = TenantToolset(tenant_id=cast.acme.pk, user_id=cast.alice.pk, assistant_id=cast.support.pk)
    assert [one.name for one in await run.offered()] == ["plain"]
    await in_database(off)
    (admission,) = await run.admit([ToolCall("1", "plain", "{}")])
    assert (admission.policy, admission.rule) == ("off", RULE)
    assert not await run.offered()


@pytest.mark.django_db(transaction=True)
def test_listeners_of_this_process_are_told(cast: Cast) -> None:
    told: list[str] = []
    remove = change_notices.add_listener(lambda: told.append("changed"))
    off()
    unblock_tool(actor=None, tool="plain")
    remove()
    assert told == ["changed", "changed"]


def test_the_audit_has_what_was_before_and_after(cast: Cast) -> None:
    block_tool(actor=cast.root, tool="plain", reason="Leaks")
    block_tool(actor=cast.root, tool="plain", reason="Leaks addresses")
    unblock_tool(actor=cast.root, tool="plain")
    entries = AuditEntry.objects.order_by("pk")
    assert [(one.action, one.target, one.actor, one.tenant) for one in entries] == [
        (action, "plain", cast.root, None) for action in ("tool.block", "tool.block", "tool.unblock")
    ]
    assert [one.details["values"] for one in entries] == [
        {"in the whole deployment": ["as switched", "off"], "reason": [None, "Leaks"]},
        {"reason": ["Leaks", "Leaks addresses"]},
        {"in the whole deployment": ["off", "as switched"], "reason": ["Leaks addresses", None]},
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"tool": "made_up"},
        {"reason": "  "},
        {"reason": "x" * 151},
        {"lasts": timedelta(0)},
        {"lasts": timedelta(days=400)},
        {"until": datetime(2020, 1, 1, tzinfo=timezone.get_default_timezone())},
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, object], cast: Cast) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        block_tool(actor=None, **{"tool": "plain", "reason": "Leaks", **given})  # type: ignore[arg-type]
    assert not ToolBlock.objects.exists()
    assert not AuditEntry.objects.exists()


def told(*arguments: str) -> str:
    out = io.StringIO()
    call_command("assistant_tools", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_switches_off_and_on_and_lists(cast: Cast) -> None:
    assert "plain: Off in the whole deployment until" in told("off", "plain", "--reason", "Leaks", "--for", "2h")
    assert "Off in the whole deployment" in told()
    assert "off  plain  Off in the whole deployment" in told("list", "--tenant", "acme", "--user", "alice")
    assert "follows its switches again" in told("on", "plain")
    assert "was not off" in told("on", "plain")
    assert "Off in the whole deployment" not in told()


@pytest.mark.parametrize(
    "rest", [["off"], ["off", "plain"], ["off", "plain", "--reason", "x", "--for", "0h"], ["off", "x"]]
)
def test_the_command_refuses_what_it_cannot_do(rest: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("assistant_tools", *rest)
