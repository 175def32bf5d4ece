"""Each tenant's retention periods are applied once a day, by a job of that tenant."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.models import Conversation, Job, Retention, Tenant
from assistant.services.jobs.jobs import LongWork
from assistant.services.jobs.recurring import recurring
from assistant.services.privacy import retention
from assistant.services.privacy.daily_retention import EVERY, RETENTION_JOB, plan_retention
from tests.base import Cast
from tests.factories import make_conversation
from tests.services.jobs.due_jobs import do_due_jobs
from tests.services.privacy.test_retention import age

pytestmark = pytest.mark.django_db(transaction=True)


def keep_for(tenant: Tenant, days: int) -> None:
    Retention.objects.create(tenant=tenant, conversations=days)


def apply() -> None:
    """Do the jobs as if a day had passed."""
    Job.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    started: list[LongWork] = []
    do_due_jobs(start=started.append)
    for work in started:
        asyncio.run(work())


def test_a_tenant_has_one_job_within_a_day_and_then_every_day(cast: Cast) -> None:
    assert (plan_retention(), plan_retention()) == (2, 0)
    first = Job.objects.get(tenant=cast.acme)
    assert timezone.now() <= first.due_at <= timezone.now() + EVERY
    apply()
    again = Job.objects.get(tenant=cast.acme)
    assert (again.pk, again.state, again.attempts, plan_retention()) == (first.pk, "waiting", 0, 0)
    assert again.due_at > timezone.now() + EVERY / 2


def test_only_old_rows_of_a_tenant_with_a_period_go_batch_by_batch(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    for user, assistant in ((cast.alice, cast.support), (cast.mallory, cast.rival_support)):
        for days in (40, 40, 40, 0):
            age(make_conversation(user, assistant), days, "updated_at")
    keep_for(cast.acme, 30)
    plan_retention()
    apply()
    left = Conversation.objects.values_list("tenant__slug", flat=True)
    assert sorted(left) == ["acme", *["globex"] * 4]


def test_one_that_fails_is_left_to_people_for_a_day(cast: Cast) -> None:
    plan_retention()
    Job.objects.update(state="failed", ended_at=timezone.now())
    assert plan_retention() == 0
    Job.objects.update(ended_at=timezone.now() - EVERY)
    assert plan_retention() == 2


def test_the_operators_switch_turns_it_off(cast: Cast, settings: Any) -> None:
    plan_retention()
    settings.ASSISTANT_RETENTION_FROM_SERVER = False
    keep_for(cast.acme, 30)
    age(make_conversation(cast.alice, cast.support), 40, "updated_at")
    apply()
    assert Conversation.objects.exists() and not Job.objects.filter(state="waiting").exists()
    assert plan_retention() == 0


def test_servers_plan_it_but_not_while_they_start() -> None:
    (own,) = [one for one in recurring() if one.work is plan_retention]
    assert own.is_first_later and Job.objects.filter(name=RETENTION_JOB).count() == 0
