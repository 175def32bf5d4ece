"""A process that takes a run prepares it from its rows, with access to the run's tenant alone."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError
from django.utils.translation import get_language, override

from assistant.core.extensions.request_choice import RequestChoice
from assistant.core.values.pricing import NO_PRICES
from assistant.models import Provider, Run
from assistant.services.eventlog.memory import MemoryLog
from assistant.services.limits.run_queue import Place
from assistant.services.limits.shared_queue import offer
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.client_tools import ClientTools
from assistant.services.runs.input.forwarded_props import ForwardedProps
from assistant.services.runs.input.page_context import Page
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.plan_builder import plan_of
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.runs.process import dispatcher
from assistant.services.runs.process.dispatcher import Dispatcher
from assistant.services.runs.recovery.reopened_run import reopen_run
from assistant.services.runs.run_input import CallerSettings, ClientHistory
from assistant.services.runs.run_start import RunStart
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import set_all_tenants, set_tenants, visible_tenants
from assistant.toolkit import Tool
from tests.base import Cast
from tests.services.runs.test_opening import given
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)
SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
RATE = Tool.client_side(name="rate", description="Rate it.", parameters={"type": "object", "properties": {}})


@pytest.fixture(autouse=True)
def _shared(settings: Any) -> None:
    settings.ASSISTANT_ROLE = "web"


def opened(member: Member, **more: Any) -> tuple[RunKey, RunSetup]:
    """A run that is in the queue, as its own process would prepare it."""
    asked = replace(given(uuid.uuid4()), **more)
    run = open_run(member=member, assistant_slug="support", given=asked, owner="web", must_wait=True)
    assert run.setup is not None
    return run.key, run.setup


def comparable(setup: RunSetup) -> RunSetup:
    """A setup without its place in the queue, and what is not equal to another that was read from the same row."""
    provider, settings = replace(setup.provider, prices=NO_PRICES), replace(setup.settings, prices=NO_PRICES)
    answering = replace(setup.answering, provider=provider)
    # A client's tools are compared by what they are of.
    own = tuple(one for one in setup.extensions if not isinstance(one, ClientTools))
    return replace(setup, extensions=own, queued=None, answering=answering, settings=settings)


def test_the_setup_is_that_of_the_process_that_opened_it(alice_member: Member, provider: Provider) -> None:
    key, before = opened(
        alice_member,
        page=Page("The page shows order 7.\x00", {"order": 7, "odd": "\x00"}),
        client_tools=(RATE,),
        options=ForwardedProps(output_schema=SCHEMA, allowed_tools=frozenset({"current_time"})),
        history=ClientHistory(has_instructions=True),
    )
    after = reopen_run(pk=key.pk, tenant_id=key.tenant_id, owner="worker").setup
    assert [message.page for message in after.history] == [message.page for message in before.history]
    assert "order 7" in after.history[-1].page
    assert comparable(after) == comparable(before)
    (given_tools,) = (one.client_tools for one in after.extensions if isinstance(one, ClientTools))
    assert [(tool.name, tool.parameters) for tool in given_tools] == [("rate", RATE.parameters)]


def test_how_a_program_wants_to_be_answered_is_kept(alice_member: Member, provider: Provider) -> None:
    wanted = CallerSettings("Be brief.", {"temperature": 0.5, "stop": ["\x00"]}, "none", {"type": "json_object"})
    key, before = opened(alice_member, asked=wanted)
    after = reopen_run(pk=key.pk, tenant_id=key.tenant_id, owner="worker").setup
    assert [message.content for message in after.history] == [message.content for message in before.history]
    assert after.history[0].content == "Be brief."
    assert comparable(replace(after, history=())) == comparable(replace(before, history=()))
    plan = plan_of(key=key, setup=after, member=alice_member)
    assert plan.settings.options["temperature"] == 0.5
    assert RequestChoice("none", {"type": "json_object"}) in plan.extensions


def test_a_run_that_one_process_does_alone_keeps_nothing(
    alice_member: Member, provider: Provider, settings: Any
) -> None:
    settings.ASSISTANT_ROLE = "all"
    opened(alice_member)
    assert not Run.objects.get().is_shared


async def test_it_may_read_its_own_tenant_and_speaks_its_clients_language(
    alice_member: Member, cast: Cast, provider: Provider
) -> None:
    begun: list[tuple[int, str, str | None]] = []

    async def begin(key: RunKey, setup: RunSetup, place: Place, start: RunStart | None) -> None:
        begun.append((key.pk, visible_tenants(), get_language()))

    def open_in_german() -> RunKey:
        set_tenants(cast.acme.pk)
        with override("de"):
            key, _ = opened(alice_member)
        offer(pk=key.pk, tenant_id=key.tenant_id, owner="web", seq=2)
        return key

    key = await in_db(open_in_german)()
    taking = Dispatcher("worker", MemoryLog(), begin)
    set_all_tenants()
    assert await taking.take()
    assert taking.starting_runs() == [key.pk]  # so that its own recovery leaves it alone
    await taking.hand_over()
    assert begun == [(key.pk, str(cast.acme.pk), "de")]
    assert not await taking.take()
    assert len(taking.queue) == 0


async def test_a_run_that_cannot_be_prepared_is_given_up(alice_member: Member, cast: Cast, provider: Provider) -> None:
    def open_and_leave() -> None:
        key, _ = opened(alice_member)
        offer(pk=key.pk, tenant_id=key.tenant_id, owner="web", seq=2)
        cast.alice.is_active = False
        cast.alice.save()

    await in_db(open_and_leave)()
    set_all_tenants()
    taking = Dispatcher("worker", MemoryLog(), _never)
    assert await taking.take()
    await taking.hand_over()
    run = await in_db(Run.objects.get)()
    assert (run.status, run.lease_owner) == ("running", "")  # the next recovery ends it


async def test_a_tenant_whose_row_is_locked_does_not_hold_up_the_others(
    cast: Cast, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []

    def take_first(*, tenant_id: int, **_: Any) -> int | None:
        taken.append(tenant_id)
        if len(taken) == 1:
            raise OperationalError("canceling statement due to lock timeout")
        return None

    monkeypatch.setattr(dispatcher, "take_first", take_first)
    monkeypatch.setattr(dispatcher, "waiting_tenants", lambda: {cast.acme.pk: 1, cast.globex.pk: 1})
    assert not await Dispatcher("worker", MemoryLog(), _never).take()
    assert taken == [cast.acme.pk, cast.globex.pk]


async def test_a_process_that_cannot_reach_the_database_still_ends(
    alice_member: Member, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hand_over(*, owner: str) -> int:
        raise OperationalError("connection refused")

    monkeypatch.setattr(dispatcher, "hand_over", hand_over)
    ending = Dispatcher("web", MemoryLog(), _never)
    key, setup = await in_db(lambda: opened(alice_member))()
    assert setup.queued is not None
    await ending.queue.add(ending.queue.enter(alice_member), setup.queued)
    assert await ending.hand_over() == []  # its lease expires
    assert list(ending.queue.shared_runs()) == [key.pk]


async def _never(key: RunKey, setup: RunSetup, place: Place, start: RunStart | None) -> None:
    raise AssertionError("it must not begin")
