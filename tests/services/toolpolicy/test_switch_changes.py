"""Many switches are set by one change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.models import AuditEntry, ToolSetting
from assistant.services.toolpolicy.switch_changes import Target, set_switches
from tests.base import Cast
from tests.factories import make_tenant, switch_tool

pytestmark = pytest.mark.django_db
TOOL = "get_customer"


def both(cast: Cast, *tools: str) -> list[Target]:
    return [Target(tenant.pk, None, tool) for tenant in (cast.acme, cast.globex) for tool in tools or (TOOL,)]


def stored() -> dict[tuple[str, str], str]:
    rows = ToolSetting.objects.values_list("tenant__slug", "tool", "policy")
    return {(slug, tool): policy for slug, tool, policy in rows}


def test_one_change_sets_switches_of_tenants_and_audits_each(cast: Cast) -> None:
    switch_tool(cast.globex, TOOL, "on")
    change = set_switches(actor=cast.root, targets=both(cast), policy="ask")
    assert stored() == {("acme", TOOL): "ask", ("globex", TOOL): "ask"}
    entries = AuditEntry.objects.filter(action="tool.switch").order_by("tenant__slug")
    assert [(one.tenant, one.details["before"], one.details["policy"], one.actor) for one in entries] == [
        (cast.acme, "follow", "ask", cast.root),
        (cast.globex, "on", "ask", cast.root),
    ]
    assert {one.details["change"] for one in entries} == {change.id}


def test_what_stays_as_it_is_is_not_in_the_audit(cast: Cast) -> None:
    switch_tool(cast.acme, TOOL, "ask")
    assert len(set_switches(actor=cast.root, targets=both(cast), policy="ask").changed) == 1
    assert AuditEntry.objects.get(action="tool.switch").tenant == cast.globex


def test_a_change_makes_no_more_queries_for_many_switches(cast: Cast) -> None:
    with CaptureQueriesContext(connection) as few:
        set_switches(actor=cast.root, targets=both(cast), policy="on")
    targets = both(cast) + [Target(make_tenant().pk, None, tool) for tool in (TOOL, "calculate") for _ in range(6)]
    with CaptureQueriesContext(connection) as many:
        set_switches(actor=cast.root, targets=targets, policy="off")
    assert len(many) <= len(few) <= 14


def test_a_switch_with_settings_is_not_deleted(cast: Cast) -> None:
    ToolSetting.objects.create(tenant=cast.acme, tool=TOOL, config={"a": 1})
    switch_tool(cast.globex, TOOL, "on")
    change = set_switches(actor=cast.root, targets=both(cast), policy="follow")
    assert (len(change.changed), [one.tenant_id for one in change.left]) == (1, [cast.acme.pk])
    assert ToolSetting.objects.get().config == {"a": 1}


@pytest.mark.parametrize("change", [{"policy": "maybe"}, {"tool": "made_up"}, {"assistant": True}])
def test_what_does_not_exist_changes_nothing(change: dict[str, object], cast: Cast) -> None:
    foreign = cast.rival_support.pk if change.get("assistant") else None
    targets = [*both(cast), Target(cast.acme.pk, foreign, str(change.get("tool", TOOL)))]
    with pytest.raises(ValueError, match=r"\w"):
        set_switches(actor=cast.root, targets=targets, policy=str(change.get("policy", "on")))
    assert not stored()


@pytest.mark.parametrize("wrong", [{"reason": "x" * 151}, {"reason": "x", "until": timezone.now() - timedelta(1)}])
def test_a_reason_and_its_end_have_bounds(cast: Cast, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"a reason has|in the future"):
        set_switches(actor=None, targets=both(cast), policy="on", **wrong)
    assert not ToolSetting.objects.exists()
