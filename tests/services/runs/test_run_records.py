"""What is kept of a run: when the model and its tools ran, and the configuration that it had."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from assistant.core.values.messages import Message, Usage
from assistant.core.values.timeline import Timeline
from assistant.models import Provider, Run, RunConfiguration, Tenant, ToolSetting
from assistant.services.runs import run_configurations
from assistant.services.runs.closing import close_run
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.run_configurations import record_of
from assistant.services.tenancy.members import Member
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.runs.test_opening import FINISHED, given
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket


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
        is_heard=False,
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
    alice_member: Member, django_capture_on_commit_callbacks: Callable[..., Any]
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


@pytest.mark.django_db(transaction=True)
async def test_a_run_of_the_server_is_recorded(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    fake_provider.call("current_time", {})
    fake_provider.reply("It is late.")
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("What time is it?")
    run = await Run.objects.aget(tenant=cast.acme)
    assert run.timeline is not None
    first, second = run.timeline["rounds"]
    (call,) = run.timeline["calls"]
    assert (call["name"], call["status"]) == ("current_time", "ok")
    assert first["at"] + first["ms"] <= call["at"] + 5 <= second["at"] + 10
    assert first["in"] + second["in"] == run.input_tokens and first["out"] + second["out"] == run.output_tokens
    row = await RunConfiguration.objects.aget(tenant=cast.acme, digest=run.configuration)
    assert row.content["provider"]["model"] == "test-model"
    assert "sk-test" not in json.dumps([row.content, run.timeline])


@pytest.mark.django_db(transaction=True)
async def test_the_providers_own_reason_of_a_failure_is_recorded(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.respond(400, {"error": {"message": "no", "code": "bad_model"}})
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hello")
    assert frames[-1]["type"] == "RUN_ERROR"
    run = await Run.objects.aget(tenant=cast.acme)
    assert run.timeline is not None
    assert "400" in run.timeline["error"]["reason"]
    assert run.timeline["error"]["id"] in run.error_message
