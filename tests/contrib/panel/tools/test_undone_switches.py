"""A change of switches can be taken back for ten minutes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from assistant.contrib.panel.services.undone_switches import latest_change, undo_change
from assistant.models import AuditEntry, Tenant, ToolSetting
from assistant.services.toolpolicy.switch_changes import Target, set_switches
from tests.base import Cast
from tests.factories import switch_tool

pytestmark = pytest.mark.django_db
TOOL = "get_customer"


def both(cast: Cast, *tools: str) -> list[Target]:
    return [Target(tenant.pk, None, tool) for tenant in (cast.acme, cast.globex) for tool in tools or (TOOL,)]


def stored() -> dict[tuple[str, str], str]:
    rows = ToolSetting.objects.values_list("tenant__slug", "tool", "policy")
    return {(slug, tool): policy for slug, tool, policy in rows}


def test_undo_restores_what_was_before(cast: Cast) -> None:
    switch_tool(cast.acme, TOOL, "on")
    before = stored()
    change = set_switches(actor=cast.root, targets=both(cast), policy="off")
    undone = undo_change(actor=cast.root, change=change.id, tenants=Tenant.objects.all())
    assert stored() == before
    assert (len(undone.changed), undone.left) == (2, ())
    assert AuditEntry.objects.filter(action="tool.switch").count() == 4


def test_undo_leaves_what_somebody_has_changed_since(cast: Cast) -> None:
    change = set_switches(actor=cast.root, targets=both(cast), policy="off")
    set_switches(actor=cast.amy, targets=both(cast)[:1], policy="ask")
    undone = undo_change(actor=cast.root, change=change.id, tenants=Tenant.objects.all())
    assert stored() == {("acme", TOOL): "ask"}
    assert undone.left == tuple(both(cast)[:1])


def test_undo_is_for_ten_minutes(cast: Cast) -> None:
    change = set_switches(actor=cast.root, targets=both(cast), policy="off")
    AuditEntry.objects.update(created_at=timezone.now() - timedelta(minutes=9))
    assert latest_change(actor=cast.root, tenants=Tenant.objects.all()) is not None
    AuditEntry.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    assert latest_change(actor=cast.root, tenants=Tenant.objects.all()) is None
    with pytest.raises(LookupError):
        undo_change(actor=cast.root, change=change.id, tenants=Tenant.objects.all())


def test_nobody_undoes_another_persons_change_or_another_tenants(cast: Cast) -> None:
    change = set_switches(actor=cast.root, targets=both(cast), policy="off")
    with pytest.raises(LookupError):
        undo_change(actor=cast.amy, change=change.id, tenants=Tenant.objects.all())
    undo_change(actor=cast.root, change=change.id, tenants=Tenant.objects.filter(pk=cast.acme.pk))
    assert stored() == {("globex", TOOL): "off"}


def test_the_latest_change_says_what_it_was(cast: Cast) -> None:
    set_switches(actor=cast.root, targets=both(cast, TOOL, "calculate"), policy="ask")
    found = latest_change(actor=cast.root, tenants=Tenant.objects.all())
    assert found is not None
    assert (found.count, found.policy, found.tool) == (4, "ask", "")


def test_a_switch_takes_a_reason_away_and_undo_brings_it_back(cast: Cast) -> None:
    target = [Target(cast.acme.pk, None, TOOL)]
    end = timezone.now() + timedelta(hours=1)
    off = set_switches(actor=cast.root, targets=target, policy="ask", reason=" Too\nslow ", until=end)
    row = ToolSetting.objects.get()
    assert (row.policy, row.reason, row.until) == ("ask", "Too slow", end)
    on = set_switches(actor=cast.root, targets=target, policy="ask")
    row.refresh_from_db()
    assert (row.policy, row.reason, row.until) == ("ask", "", None)
    steps = AuditEntry.objects.filter(action="tool.switch").order_by("pk").values_list("details", flat=True)
    assert [(one["before"], one["policy"], one.get("reason")) for one in steps] == [
        ("follow", "off", "Too slow"), ("off", "ask", None)
    ]  # fmt: skip
    undo_change(actor=cast.root, change=on.id, tenants=Tenant.objects.all())
    row.refresh_from_db()
    assert (row.policy, row.reason, row.until) == ("ask", "Too slow", end)
    assert undo_change(actor=cast.root, change=off.id, tenants=Tenant.objects.all()).changed == tuple(target)
    assert not ToolSetting.objects.exists()
