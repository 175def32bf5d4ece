"""What is kept of a run: when the model and its tools ran, and the configuration that it had."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from assistant.core.values.messages import Message, Usage
from assistant.core.values.timeline import Timeline
from assistant.models import Run, RunConfiguration, Tenant, ToolSetting
from assistant.services.runs import run_configurations
from assistant.services.runs.closing import close_run
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.run_configurations import record_of
from assistant.services.tenancy.members import Member
from tests.factories import switch_tool
from tests.services.runs.test_opening import FINISHED, given


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    run_configurations._stored.clear()
    yield
    run_configurations._stored.clear()


def take_turn(member: Member, timeline: Timeline | None = None, extra: dict[str, Any] | None = None) -> Run:
    opened = open_run(member=member, assistant_slug="support", given=given(uuid.uuid4()), owner="here")
    setup = opened.setup
    assert setup is not None
    close_run(
        key=opened.key,
        messages=[Message("assistant", "Hi", id="a")],
        usage={("provider", "model"): Usage(10, 5)},
        ending=FINISHED,
        last_seq=2,
        position=setup.position,
        has_webhooks=False,
        make_record=lambda: record_of(setup, extra or {}, timeline or Timeline()),
    )
    return Run.objects.get(pk=opened.key.pk, tenant_id=member.tenant_id)


def test_runs_with_the_same_configuration_share_one_row(alice_member: Member) -> None:
    switch_tool(Tenant.objects.get(slug="acme"), "current_time")
    first, second = take_turn(alice_member), take_turn(alice_member)
    row = RunConfiguration.objects.get(tenant_id=alice_member.tenant_id)
    assert first.configuration == second.configuration == row.digest
    tools = {tool["name"]: tool for tool in row.content["tools"]}
    assert tools["current_time"]["policy"] == "on" and tools["current_time"]["rule"]
    switch_tool(Tenant.objects.get(slug="acme"), "current_time", ToolSetting.Policy.ASK)
    third = take_turn(alice_member)
    assert third.configuration != first.configuration
    assert RunConfiguration.objects.filter(tenant_id=alice_member.tenant_id).count() == 2


def test_a_process_stores_a_configuration_once_an_hour(
    alice_member: Member, django_assert_num_queries: Any, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        run = take_turn(alice_member)
    RunConfiguration.objects.filter(tenant_id=alice_member.tenant_id).update(used_at=timezone.now())
    row = RunConfiguration.objects.get(tenant_id=alice_member.tenant_id)
    again = take_turn(alice_member)
    assert again.configuration == run.configuration
    row_now = RunConfiguration.objects.get(tenant_id=alice_member.tenant_id)
    assert row_now.used_at == row.used_at
    key = (alice_member.tenant_id, run.configuration)
    run_configurations._stored[key] -= run_configurations.STORED_SECONDS + 1
    take_turn(alice_member)
    assert RunConfiguration.objects.get(tenant_id=alice_member.tenant_id).used_at > row.used_at


def test_only_names_of_the_tool_context_are_kept(alice_member: Member) -> None:
    run = take_turn(alice_member, extra={"customer": "secret-42", "plan": {"id": 7}})
    assert run.timeline is not None
    assert run.timeline["context"] == ["customer", "plan"]
    assert "secret-42" not in str(run.timeline)
