"""A process looks for dead runs, and never takes one for dead that it works on itself."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from django.utils import timezone

from assistant.models import Provider, Run, ToolCall
from assistant.services import recovery, runs
from assistant.services.leases import DeadRun, take_over_dead_runs
from assistant.services.members import Member, find_member
from assistant.services.runs import Runs
from tests.base import Cast
from tests.factories import make_conversation, make_run
from tests.fake_provider import FakeProvider
from tests.services.test_turns import given
from tests.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(cast: Cast) -> Member:
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    return member


def lapse() -> None:
    """Let every lease have run out, as time does."""
    Run.objects.update(lease_until=timezone.now() - timedelta(minutes=1))


@pytest_asyncio.fixture
async def here(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runs]:
    """A process that looks every few milliseconds, and whose renewals are late by more than a lease."""

    def renew_late(*, owner: str, runs: Sequence[int]) -> list[int]:
        lapse()
        return []

    monkeypatch.setattr(runs, "HOUSEKEEPING_SECONDS", 0.02)
    monkeypatch.setattr(runs, "renew_leases", renew_late)
    process = Runs()
    yield process
    await process.stop()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[list[DeadRun]]:
    """What each look for dead runs found."""
    found = []

    def look(**choice: Any) -> list[DeadRun]:
        found.append(take_over_dead_runs(**choice))
        return found[-1]

    monkeypatch.setattr(recovery, "take_over_dead_runs", look)
    return found


async def test_a_run_is_not_taken_for_dead_by_the_process_that_works_on_it(
    alice: Member, provider: Provider, fake_provider: FakeProvider, here: Runs, looks: list[list[DeadRun]]
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once", gate, " more"])
    opened = await here.open(member=alice, assistant_slug="support", given=given(uuid.uuid4()))
    before = len(looks)
    await until(lambda: len(looks) > before + 3)
    gate.release()
    run = await until(lambda: Run.objects.exclude(status=Run.Status.RUNNING).first())
    assert (run.pk, run.status) == (opened.key.pk, Run.Status.FINISHED)
    assert not any(looks)


async def test_a_run_that_nobody_works_on_is_taken_over_also_if_this_process_began_it(
    alice: Member, provider: Provider, fake_provider: FakeProvider, here: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**parts: Any) -> None:
        raise RuntimeError("no plan")

    monkeypatch.setattr(runs, "plan_of", refuse)
    with pytest.raises(RuntimeError, match="no plan"):
        await here.open(member=alice, assistant_slug="support", given=given(uuid.uuid4()))
    run = await until(lambda: Run.objects.exclude(status=Run.Status.RUNNING).first())
    assert run.status == Run.Status.INTERRUPTED


@pytest.mark.parametrize(("owner", "alive", "taken"), [("me", True, 0), ("me", False, 1), ("another", True, 1)])
def test_whose_runs_are_taken(cast: Cast, owner: str, alive: bool, taken: int) -> None:
    run = make_running(cast, owner)
    ToolCall.objects.create(tenant_id=run.tenant_id, run=run, call_id="c", name="pay", status=ToolCall.Status.RUNNING)
    assert len(take_over_dead_runs(owner="me", alive=[run.pk] if alive else [])) == taken
    assert ToolCall.objects.get().status == (ToolCall.Status.INTERRUPTED if taken else ToolCall.Status.RUNNING)


def test_a_lease_that_ran_out_after_the_look_began_has_not_run_out(cast: Cast) -> None:
    make_running(cast, "me")
    assert not take_over_dead_runs(owner="me", by=timezone.now() - timedelta(minutes=2))
    assert take_over_dead_runs(owner="me")


def make_running(cast: Cast, owner: str) -> Run:
    run = make_run(make_conversation(cast.alice, cast.support), status=Run.Status.RUNNING, lease_owner=owner)
    lapse()
    return run
