"""A schedule that was made with an API key asks with that key, and stops with it."""

from __future__ import annotations

import contextvars
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.contrib.mcp_server.direct_call import call_tool
from assistant.contrib.timed.models import Schedule
from assistant.contrib.timed.services.schedules.schedules import make_schedule, set_paused
from assistant.core.values.messages import ToolCall as Call
from assistant.models import ApiKey, Membership, Provider, Run
from assistant.services.runs.manager import get_runs
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.tenancy.members import Member, acting_key, create_api_key, member_of_key, set_acting_key
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.contrib.timed.test_firing import ask, come_due, draft, fire, in_threads, member
from tests.contrib.timed.test_schedule_tools import ask as schedule
from tests.contrib.timed.test_schedule_tools import at
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider

GONE = "The API key that made it is not valid any more."


def make_key(cast: Cast) -> ApiKey:
    return create_api_key(tenant=cast.acme, user=cast.alice, name="CRM")[0]


def by_key(key: ApiKey) -> Member:
    found = member_of_key(tenant_id=key.tenant_id, key_id=key.pk)
    assert found is not None
    return found


@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
def test_it_stops_when_its_key_is_not_valid_any_more(cast: Cast, end: str) -> None:
    key = make_key(cast)
    row = make_schedule(member=by_key(key), draft=draft())
    ApiKey.objects.filter(pk=key.pk).update(**{end: timezone.now() - timedelta(seconds=1)})
    fire(row)
    assert (row.state, row.reason, row.runs.count()) == ("stopped", GONE, 0)


def test_without_its_member_the_member_is_the_reason(cast: Cast) -> None:
    row = make_schedule(member=by_key(make_key(cast)), draft=draft())
    Membership.objects.filter(user=cast.alice).delete()
    fire(row)
    assert row.reason == "Its member has no access any more."


def test_its_member_may_let_it_go_on_as_theirs_and_an_admin_may_not(cast: Cast) -> None:
    key = make_key(cast)
    row = make_schedule(member=by_key(key), draft=draft())
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    fire(row)
    fire(set_paused(row=row, is_paused=False, actor=cast.amy))
    row.refresh_from_db()
    assert (row.state, row.api_key) == ("stopped", key)
    row = set_paused(row=row, is_paused=False, actor=cast.alice, by=member(cast.acme, cast.alice))
    fire(row)
    assert (row.state, row.api_key, row.runs.count()) == ("on", None, 1)


@in_threads
async def test_it_asks_with_its_key(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Two are open.")
    key = await sync_to_async(make_key)(cast)
    row = await sync_to_async(make_schedule)(member=await sync_to_async(by_key)(key), draft=draft())
    await sync_to_async(come_due)(row)
    await ask()
    run = await Run.objects.aget()
    assert (run.status, run.user_id, run.api_key_id) == ("finished", cast.alice.pk, key.pk)
    await get_runs().stop()


@tool(read_only=True)
def which_key() -> str:
    """Say with which key the caller acts."""
    return str(acting_key())


@in_threads
async def test_tools_know_the_key_of_a_run_and_of_a_direct_call(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = await sync_to_async(make_key)(cast)
    caller = await sync_to_async(by_key)(key)
    await sync_to_async(switch_tool)(cast.acme, "which_key")
    with catalogue.using(Registry([which_key])):
        for who, said in ((caller, str(key.pk)), (replace(caller, key_id=None), "None")):
            fake_provider.call("which_key", {})
            fake_provider.reply("Done.")
            given = RunInput(uuid.uuid4(), uuid.uuid4().hex, message=TextMessage(uuid.uuid4().hex, "Which?"))
            opened = await get_runs().open(member=who, assistant_slug="support", given=given)
            await get_runs().ended(pk=opened.key.pk)
            assert fake_provider.requests[-1].messages[-1]["content"] == said
            direct = await call_tool(member=who, call=Call(uuid.uuid4().hex, "which_key", "{}"))
            assert direct.outcome.content == said
    await get_runs().stop()


def test_the_tool_makes_one_with_the_key_of_its_caller(cast: Cast) -> None:
    key = make_key(cast)
    for used in (None, key):
        context = contextvars.copy_context()
        context.run(set_acting_key, None if used is None else used.pk)
        context.run(schedule, at(cast.acme, cast.alice))
        assert Schedule.objects.latest("pk").api_key == used
