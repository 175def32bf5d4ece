"""Runs at once: whose are counted, and which queued run starts."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from assistant.contrib.end_users.services.tokens import save_end_user
from assistant.models import ApiKey, Assistant, Run, TenantLimits
from assistant.services.limits.runs_at_once import (
    RETRY_SECONDS,
    QueuedRun,
    RunCounts,
    TooManyRuns,
    check_bounds,
    exceeds_limits,
    limits_of,
    start_first,
)
from assistant.services.runs.opening.opening_query import _state_query
from assistant.services.tenancy.members import Member, create_api_key, find_member, member_by_key
from assistant.services.tenancy.quotas import quotas_of
from tests.base import Cast
from tests.factories import make_conversation, make_run

pytestmark = pytest.mark.django_db

NOTHING = RunCounts()


def active(user: User, assistant: Assistant, status: str = Run.Status.RUNNING, **fields: Any) -> Run:
    until = timezone.now() + timedelta(seconds=15)
    return make_run(make_conversation(user, assistant), status=status, lease_owner="me", lease_until=until, **fields)


def waiting(run: Run, **more: Any) -> QueuedRun:
    return QueuedRun(run.pk, run.user_id, run.api_key_id, **{"key_limit": 0, "is_end_user": False, **more})


def member(cast: Cast, user: User | None = None) -> Member:
    found = find_member(user_id=(user or cast.alice).pk, tenant_slug="acme")
    assert found is not None
    return found


def may_run(who: Member, limits: RunCounts) -> bool:
    return not exceeds_limits(member=who, limits=limits, active=NOTHING)


def test_a_tenants_runs_are_counted_and_no_other_tenants(cast: Cast) -> None:
    active(cast.mallory, cast.rival_support)
    make_run(make_conversation(cast.amy, cast.support), ended_at=timezone.now())
    assert may_run(member(cast), RunCounts(tenant=1))
    active(cast.amy, cast.support)
    assert not may_run(member(cast), RunCounts(tenant=1))
    assert may_run(member(cast), RunCounts(tenant=2))


def test_a_members_runs_are_counted_and_no_colleagues(cast: Cast) -> None:
    active(cast.amy, cast.support)
    assert may_run(member(cast), RunCounts(member=1))
    active(cast.alice, cast.support, Run.Status.QUEUED)
    assert not may_run(member(cast), RunCounts(member=1))


def test_a_keys_runs_are_counted_and_no_other_keys(cast: Cast) -> None:
    row, key = create_api_key(tenant=cast.acme, user=cast.alice, name="one", runs_at_once=1)
    other = create_api_key(tenant=cast.acme, user=cast.alice, name="other")[0]
    who = member_by_key(key=key)
    assert who is not None
    active(cast.alice, cast.support, api_key=other)
    assert may_run(who, limits_of(quotas_of(cast.acme), row.runs_at_once))
    active(cast.alice, cast.support, api_key=row)
    assert not may_run(who, limits_of(quotas_of(cast.acme), row.runs_at_once))


def test_as_many_may_wait_as_may_run_and_the_next_is_refused_with_a_time(cast: Cast) -> None:
    limits = RunCounts(tenant=100, member=2)
    for _ in range(4):
        assert isinstance(exceeds_limits(member=member(cast), limits=limits, active=NOTHING), bool)
        active(cast.alice, cast.support)
    with pytest.raises(TooManyRuns, match="You have 2 runs at once, the most allowed, and as many wait") as refused:
        exceeds_limits(member=member(cast), limits=limits, active=NOTHING)
    assert (refused.value.code, refused.value.retry_after) == ("limit_reached", RETRY_SECONDS)


def test_nothing_waits_where_that_is_switched_off(settings: Any) -> None:
    settings.ASSISTANT_RUN_QUEUE_SECONDS = 0
    check_bounds(RunCounts(key=1), NOTHING)
    with pytest.raises(TooManyRuns, match=r"This key has 1 run at once, the most allowed\. Try again in 10 seconds"):
        check_bounds(RunCounts(key=1), RunCounts(key=1))


def test_an_end_user_has_limits_of_their_own_and_never_more_than_a_member(cast: Cast, settings: Any) -> None:
    def runs() -> int:
        cast.acme.refresh_from_db()
        return quotas_of(cast.acme, is_end_user=True).member.runs

    assert (runs(), quotas_of(cast.acme, is_end_user=True).member.messages_per_minute) == (5, 30)
    assert quotas_of(cast.acme).member.messages_per_minute == 0
    limits = TenantLimits.objects.create(tenant=cast.acme, member_runs=2)
    assert runs() == 2
    TenantLimits.objects.filter(pk=limits.pk).update(member_runs=40)
    assert runs() == 5
    TenantLimits.objects.filter(pk=limits.pk).update(end_user_runs=0)
    assert runs() == 0


def test_an_end_users_token_has_the_limits_of_end_users(cast: Cast) -> None:
    user = save_end_user(tenant_id=cast.acme.pk, external_id="c-1", name="", context={}).user
    found = find_member(user_id=user.pk, tenant_slug="acme", with_end_users=True)
    assert found is not None
    assert (found.quotas.member.runs, member(cast).quotas.member.runs) == (5, 50)


def test_the_first_run_that_the_limits_allow_is_started(cast: Cast) -> None:
    TenantLimits.objects.create(tenant=cast.acme, tenant_runs=2, member_runs=1)
    active(cast.alice, cast.support)
    queued = [active(user, cast.support, Run.Status.QUEUED) for user in (cast.alice, cast.amy, cast.root)]
    runs = [waiting(run) for run in queued]
    assert start_first(tenant_id=cast.acme.pk, owner="me", queued=runs) == queued[1].pk
    # It is named again if the answer was lost on its way.
    assert start_first(tenant_id=cast.acme.pk, owner="me", queued=runs) == queued[1].pk
    assert start_first(tenant_id=cast.acme.pk, owner="me", queued=[runs[0], runs[2]]) is None
    statuses = [run.status for run in Run.objects.order_by("pk")]
    assert statuses == ["running", "queued", "running", "queued"]


def test_a_key_at_its_limit_holds_up_only_its_own_runs(cast: Cast) -> None:
    row = create_api_key(tenant=cast.acme, user=cast.alice, name="one")[0]
    active(cast.alice, cast.support, api_key=row)
    mine, other = (active(cast.alice, cast.support, Run.Status.QUEUED, api_key=key) for key in (row, None))
    runs = [waiting(mine, key_limit=1), waiting(other)]
    assert start_first(tenant_id=cast.acme.pk, owner="me", queued=runs) == other.pk


@pytest.mark.parametrize("what", ["cancelled", "suspended", "another's", "ended", "a rival's"])
def test_a_run_that_may_not_start_stays_as_it_is(cast: Cast, what: str) -> None:
    run = active(cast.alice, cast.support, Run.Status.QUEUED)
    tenant, owner = cast.acme, "me"
    if what == "cancelled":
        Run.objects.update(cancel_requested_at=timezone.now())
    elif what == "suspended":
        cast.acme.is_active = False
        cast.acme.save()
    elif what == "ended":
        Run.objects.update(status=Run.Status.CANCELLED, ended_at=timezone.now())
    elif what == "another's":
        owner = "another"
    else:
        tenant = cast.globex
    before = Run.objects.values_list("status", flat=True).get()
    assert start_first(tenant_id=tenant.pk, owner=owner, queued=[waiting(run)]) is None
    assert Run.objects.values_list("status", flat=True).get() == before


def test_a_key_that_is_deleted_leaves_its_runs(cast: Cast) -> None:
    row = create_api_key(tenant=cast.acme, user=cast.alice, name="one")[0]
    run = active(cast.alice, cast.support, api_key=row)
    ApiKey.objects.all().delete()
    run.refresh_from_db()
    assert run.api_key is None


@pytest.mark.once  # PostgreSQL's plan depends on how many rows there are
def test_active_runs_are_found_by_their_own_index(cast: Cast) -> None:
    given = {"user_id": cast.alice.pk, "slug": "support", "thread_id": uuid.uuid4(), "run_id": "r", "message_id": "m"}
    plan = _state_query(tenant_id=cast.acme.pk, key_id=0, **given).explain()
    assert plan.count("active_runs_of_a_tenant") == 4
    assert "runs_of_a_tenant (" not in plan.replace("active_runs_of_a_tenant (", "")
