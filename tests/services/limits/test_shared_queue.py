"""Queued runs that any process may start: whose turn it is, and that each is started once, within its limits."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.models import Run, TenantLimits
from assistant.models.runs import IS_ACTIVE
from assistant.services.limits.shared_queue import hand_over, offer, runs_before, take_first, waiting_tenants
from assistant.services.round_robin import WeightedTurns
from assistant.services.runs.leases import LEASE_END, LEASE_SECONDS, take_over_dead_runs
from tests.base import Cast
from tests.factories import make_conversation, make_run

ALICE, MALLORY = "alice", "mallory"


def queue(cast: Cast, who: str = ALICE, **columns: Any) -> Run:
    """A run of Acme's or Globex's member in the queue of the process `web`."""
    user, assistant = (cast.alice, cast.support) if who == ALICE else (cast.mallory, cast.rival_support)
    given = {
        "is_shared": True,
        "checkpoint_seq": 2,
        "lease_owner": "web",
        "lease_until": in_time(),
    } | columns
    return make_run(make_conversation(user, assistant), status=Run.Status.QUEUED, **given)


def in_time(seconds: float = 10) -> Any:
    return timezone.now() + timedelta(seconds=seconds)


def take(cast: Cast, owner: str = "worker") -> int | None:
    return take_first(tenant_id=cast.acme.pk, owner=owner, lease_end=LEASE_END)


def test_a_run_is_taken_once_with_its_lease(cast: Cast) -> None:
    first, second = queue(cast), queue(cast)
    assert [take(cast), take(cast, "other"), take(cast)] == [first.pk, second.pk, None]
    taken = Run.objects.get(pk=first.pk)
    assert (taken.status, taken.lease_owner) == ("running", "worker")
    assert taken.lease_until is not None
    assert taken.lease_until > in_time(LEASE_SECONDS / 2)
    assert not offer(pk=first.pk, tenant_id=cast.acme.pk, owner="web", seq=2)  # it has lost it


@pytest.mark.parametrize(
    "columns",
    [{"is_shared": False}, {"checkpoint_seq": 0}, {"cancel_requested_at": timezone.now()}],
    ids=["not described by its row", "not announced yet", "cancelled"],
)
def test_what_only_its_own_process_can_handle_is_left_to_it(cast: Cast, columns: Any) -> None:
    queue(cast, **columns)
    assert waiting_tenants() == {}
    assert take(cast) is None


def test_a_run_whose_process_died_before_it_was_announced_is_taken(cast: Cast) -> None:
    run = queue(cast, checkpoint_seq=0, lease_until=in_time(-1))
    assert take(cast) == run.pk


def test_the_limits_of_members_hold_for_all_processes(cast: Cast) -> None:
    TenantLimits.objects.create(tenant=cast.acme, member_runs=1)
    make_run(make_conversation(cast.alice, cast.support), status=Run.Status.RUNNING, lease_until=in_time())
    queue(cast)
    assert take(cast) is None
    Run.objects.filter(status=Run.Status.RUNNING).update(status=Run.Status.FINISHED, ended_at=timezone.now())
    assert take(cast) is not None


def test_tenants_get_turns_by_their_weight() -> None:
    turns: WeightedTurns[str] = WeightedTurns()
    waiting = {"flood": 1, "calm": 1, "heavy": 3}
    began = Counter[str]()
    for _ in range(50):
        key = turns.order(waiting)[0]
        turns.count(key, waiting[key])
        began[key] += 1
    assert began == {"flood": 10, "calm": 10, "heavy": 30}


def test_a_tenant_that_comes_later_waits_for_one_turn_at_most() -> None:
    turns: WeightedTurns[str] = WeightedTurns()
    for _ in range(1_000):
        turns.count("flood", 1)
    assert turns.order({"flood": 1, "late": 1})[0] == "late"


def test_how_many_runs_come_before_one(cast: Cast) -> None:
    flood = [queue(cast) for _ in range(5)]
    late = queue(cast, MALLORY)
    assert runs_before(tenant_id=late.tenant_id, pk=late.pk) == 1
    assert runs_before(tenant_id=cast.acme.pk, pk=flood[-1].pk) == 5
    assert list(waiting_tenants()) == [cast.acme.pk, cast.globex.pk]


def test_a_process_that_ends_leaves_its_queue_to_the_others(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_ROLE = "web"
    waiting = queue(cast)
    running = make_run(make_conversation(cast.alice, cast.support), status=Run.Status.RUNNING, lease_owner="web")
    assert hand_over(owner="web") == 1
    assert take_over_dead_runs(owner="other") == []  # nobody ends it
    assert Run.objects.filter(IS_ACTIVE, pk=running.pk, lease_owner="web").exists()
    assert take(cast) == waiting.pk


def test_nobody_ends_a_run_of_the_shared_queue_before_its_time(cast: Cast, settings: Any) -> None:
    run = queue(cast, lease_until=in_time(-60))
    settings.ASSISTANT_ROLE = "worker"
    assert take_over_dead_runs(owner="other") == []
    Run.objects.update(started_at=in_time(-settings.ASSISTANT_RUN_QUEUE_SECONDS - 1))
    assert [dead.key.pk for dead in take_over_dead_runs(owner="other")] == [run.pk]
