"""Change sets: whom they reach, that everything is as before once they are taken back, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.change_sets.models import AppliedChange, ChangeSet
from assistant.contrib.change_sets.services import items
from assistant.contrib.change_sets.services.acts import approve, remove_item, submit, take_back, withdraw
from assistant.contrib.change_sets.services.items import ChangeSetRefused, checked_item
from assistant.contrib.change_sets.services.timing import look_for_moments
from assistant.contrib.panel.services.audit_acts import parts_of, without_parts
from assistant.models import Assistant, AuditEntry, PromptVersion, Tenant, TenantLimits, ToolSetting
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from tests.base import Cast
from tests.contrib.change_sets.sets import (
    EVERY_KIND,
    FEWER_MESSAGES,
    FEWER_ROUNDS,
    NEW_MODEL,
    NEW_PROMPT,
    TOOL_ASKS,
    TOOL_OFF,
    change_set,
    give_label,
    prompt_of,
)
from tests.factories import make_assistant, make_tenant, switch_tool

pytestmark = pytest.mark.django_db
SOON = timedelta(hours=1)
Shown = tuple[object, ...]


def state_of(tenant: Tenant) -> Shown:
    """Return all that the sets of these tests change of a tenant."""
    assistant = Assistant.objects.get(tenant=tenant, slug="support")
    switches = ToolSetting.objects.filter(tenant=tenant).order_by("pk")
    return (
        prompt_of(assistant),
        assistant.model,
        assistant.max_rounds,
        list(switches.values_list("assistant", "tool", "policy", "reason", "until")),
        list(TenantLimits.objects.filter(tenant=tenant).values_list("member_messages_per_day", flat=True)),
    )


def test_changes_of_every_kind_begin_and_are_taken_back_together(cast: Cast) -> None:
    switch_tool(cast.acme, "current_time")
    TenantLimits.objects.create(tenant=cast.acme, member_messages_per_day=7)
    before = state_of(cast.acme)
    rivals = state_of(cast.globex)
    row = submit(change_set=change_set(cast, *EVERY_KIND), actor=cast.root)
    prompt, model, rounds, switches, limits = state_of(cast.acme)
    assert (row.state, prompt, model, rounds, limits) == ("on", "You are brief.", "large", 3, [40])
    off = (None, "current_time", "off", "People asked for it", None)
    assert switches == [off, (cast.support.pk, "current_time", "ask", "", None)]
    done = take_back(change_set=row, actor=cast.root)
    assert (len(done.restored), done.left) == (6, ())
    assert state_of(cast.acme) == before
    assert state_of(cast.globex) == rivals
    row.refresh_from_db()
    assert (row.state, row.ended_at is not None) == ("ended", True)


def test_what_somebody_has_changed_since_is_left_and_named(cast: Cast) -> None:
    row = submit(change_set=change_set(cast, NEW_PROMPT, NEW_MODEL, TOOL_OFF), actor=cast.root)
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Amy's own."), actor=cast.amy)
    switch_tool(cast.acme, "current_time", "ask")
    done = take_back(change_set=row, actor=cast.root)
    assert {one.kind for one in done.left} == {"prompt", "switch"}
    assert {one.kind for one in AppliedChange.objects.filter(was_left=True)} == {"prompt", "switch"}
    assert prompt_of(cast.support) == "Amy's own."
    assert Assistant.objects.get(pk=cast.support.pk).model == ""


def test_a_label_and_everybody_reach_their_tenants(cast: Cast) -> None:
    give_label(cast.globex)
    pilot = submit(change_set=change_set(cast, NEW_PROMPT, whom="label", label="pilot"), actor=cast.root)
    acmes = "You are Acme's support assistant."
    assert (prompt_of(cast.support), prompt_of(cast.rival_support)) == (acmes, "You are brief.")
    take_back(change_set=pilot, actor=cast.root)
    row = submit(change_set=change_set(cast, NEW_PROMPT, whom="all"), actor=cast.root)
    assert {prompt_of(cast.support), prompt_of(cast.rival_support)} == {"You are brief."}
    assert {one.tenant for one in row.applied.all()} == {cast.acme, cast.globex}


def test_a_tenant_that_cannot_have_a_change_is_left_out(cast: Cast) -> None:
    other = make_tenant("initech")
    make_assistant(other, "sales", prompt="Sell.")
    row = submit(change_set=change_set(cast, NEW_PROMPT, whom="all"), actor=cast.root)
    assert not row.applied.filter(tenant=other).exists()
    named = change_set(cast, (items.PROMPT, "support", "", "Hello {{ unknown }}"))
    with pytest.raises(ChangeSetRefused, match="None of the tenants"):
        submit(change_set=named, actor=cast.root)
    named.refresh_from_db()
    assert named.state == "draft"


def test_a_prompt_where_there_was_none_is_gone_again(cast: Cast) -> None:
    PromptVersion.objects.filter(assistant=cast.support).delete()
    row = submit(change_set=change_set(cast, NEW_PROMPT), actor=cast.root)
    take_back(change_set=row, actor=cast.root)
    assert prompt_of(cast.support) == ""


def test_a_set_begins_and_ends_at_its_moments(cast: Cast) -> None:
    now = timezone.now()
    row = change_set(cast, TOOL_OFF, starts_at=now + SOON, ends_at=now + 2 * SOON)
    assert submit(change_set=row, actor=cast.root).state == "planned"
    assert (look_for_moments(), ToolSetting.objects.count()) == (0, 0)
    ChangeSet.objects.filter(pk=row.pk).update(starts_at=now - SOON)
    assert (look_for_moments(), look_for_moments()) == (1, 0)
    # Members read the end.
    assert ToolSetting.objects.get().until == row.ends_at
    ChangeSet.objects.filter(pk=row.pk).update(ends_at=now - timedelta(minutes=1))
    assert (look_for_moments(), look_for_moments()) == (1, 0)
    assert not ToolSetting.objects.exists()


def test_a_planned_set_that_cannot_begin_is_a_draft_with_the_reason(cast: Cast) -> None:
    row = submit(change_set=change_set(cast, NEW_PROMPT, starts_at=timezone.now() + SOON), actor=cast.root)
    ChangeSet.objects.update(starts_at=timezone.now() - SOON)
    Assistant.objects.filter(pk=cast.support.pk).update(slug="gone")
    assert look_for_moments() == 0
    row.refresh_from_db()
    assert (row.state, row.note) == ("draft", "None of the tenants can have any of the changes.")


def test_a_second_person_approves_where_the_deployment_wants_it(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_CHANGE_SETS_BY_TWO = True
    row = submit(change_set=change_set(cast, NEW_PROMPT), actor=cast.root)
    assert (row.state, AppliedChange.objects.count()) == ("waiting", 0)
    with pytest.raises(ChangeSetRefused, match="Somebody else"):
        approve(change_set=row, actor=cast.root)
    with pytest.raises(ChangeSetRefused, match="another state"):
        remove_item(change_set=row, place=0, actor=cast.root)
    assert withdraw(change_set=row, actor=cast.root).state == "draft"
    row = submit(change_set=row, actor=cast.root)
    row = approve(change_set=row, actor=cast.oscar)
    assert (row.state, row.approved_by, prompt_of(cast.support)) == ("on", cast.oscar, "You are brief.")


def test_acts_are_done_once_and_in_their_state(cast: Cast) -> None:
    row = change_set(cast, NEW_PROMPT)
    for act in (take_back, approve, withdraw):
        with pytest.raises(ChangeSetRefused, match="another state"):
            act(change_set=row, actor=cast.oscar)
    submit(change_set=row, actor=cast.root)
    with pytest.raises(ChangeSetRefused, match="another state"):
        submit(change_set=row, actor=cast.root)
    take_back(change_set=row, actor=cast.root)
    with pytest.raises(ChangeSetRefused, match="another state"):
        take_back(change_set=row, actor=cast.root)


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "secret", "value": "x"},
        {"kind": "prompt", "value": "x"},
        {"kind": "prompt", "assistant": "support", "value": " "},
        {"kind": "prompt", "assistant": "support", "value": "x" * (items.MAX_TEXT + 1)},
        {"kind": "prompt", "assistant": "support", "value": "\x00"},
        {"kind": "switch", "name": "no_such_tool", "value": "off"},
        {"kind": "switch", "name": "current_time", "value": "maybe"},
        {"kind": "setting", "assistant": "support", "name": "tenant_id", "value": "1"},
        {"kind": "setting", "assistant": "support", "name": "max_rounds", "value": "many"},
        {"kind": "setting", "assistant": "support", "name": "temperature", "value": "9"},
        {"kind": "limit", "name": "attachment_mb", "value": "1"},
        {"kind": "limit", "name": "member_cost_per_day", "value": "-1"},
        {"kind": "limit", "name": "member_runs", "value": "9" * 40},
    ],
    ids=str,
)
def test_a_change_that_does_not_fit_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ChangeSetRefused):
        checked_item(given)


def test_sets_that_do_not_fit_are_refused(cast: Cast) -> None:
    with pytest.raises(ChangeSetRefused, match="no changes"):
        submit(change_set=change_set(cast), actor=cast.root)
    with pytest.raises(ChangeSetRefused, match="once"):
        change_set(cast, NEW_MODEL, NEW_MODEL)
    with pytest.raises(ChangeSetRefused, match="No tenant"):
        submit(change_set=change_set(cast, NEW_MODEL, whom="label", label="nobody"), actor=cast.root)
    with pytest.raises(ChangeSetRefused, match="end must be"):
        submit(change_set=change_set(cast, NEW_MODEL, ends_at=timezone.now() - SOON), actor=cast.root)
    for change in (TOOL_ASKS, FEWER_ROUNDS, FEWER_MESSAGES):
        with pytest.raises(ChangeSetRefused, match="share"):
            change_set(cast, change, percent=10)
    row = change_set(cast, NEW_MODEL)
    with pytest.raises(ChangeSetRefused, match="no such change"):
        remove_item(change_set=row, place=1, actor=cast.root)
    assert remove_item(change_set=row, place=0, actor=cast.root).items == []


def test_each_act_is_in_the_audit_of_its_tenant(cast: Cast) -> None:
    row = submit(change_set=change_set(cast, NEW_MODEL), actor=cast.root)
    take_back(change_set=row, actor=cast.root)
    entries = AuditEntry.objects.filter(tenant=cast.acme, actor=cast.root).order_by("pk")
    acts = [(entry.action, entry.details.get("values")) for entry in entries]
    assert acts == [
        ("changeset.edit", {"items": ["0", "1"]}),
        ("assistant.change", {"model": [None, "large"]}),
        ("changeset.begin", {"state": ["draft", "on"]}),
        ("assistant.change", {"model": ["large", None]}),
        ("changeset.take_back", {"state": ["on", "ended"]}),
    ]
    assert not AuditEntry.objects.filter(tenant=cast.globex).exists()


def test_an_act_is_one_line_of_the_audit_with_all_that_it_changed(cast: Cast) -> None:
    row = submit(change_set=change_set(cast, *EVERY_KIND, whom="all"), actor=cast.root)
    take_back(change_set=row, actor=cast.root)
    acts = AuditEntry.objects.exclude(action="changeset.edit")
    for is_of_all_tenants, tenant in ((True, None), (False, cast.acme)):
        shown = without_parts(acts, is_of_all_tenants=is_of_all_tenants)
        shown = shown if tenant is None else shown.filter(tenant=tenant)
        assert shown.count() == 2
    lead = acts.filter(tenant=None).earliest("pk")
    assert (lead.action, lead.details["parts"]) == ("changeset.begin", parts_of(lead, acts).count())
    assert lead.details["parts"] >= 12
