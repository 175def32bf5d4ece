"""Alarms ring once, in the open chats of their person, and elsewhere only if none has shown them."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.end_users.models import EndUser
from assistant.contrib.timed.models import Alarm, PersonAlarms, TenantAlarms
from assistant.contrib.timed.services.reminders import ringing  # noqa: F401 - registers its jobs
from assistant.contrib.timed.services.reminders.alarms import (
    RING_JOB,
    end_alarm,
    mark_seen,
    own_alarms,
    ringing_of,
    schedule_ring,
    snooze_alarm,
)
from assistant.contrib.timed.services.reminders.ringing import MAIL_TRIES
from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.models import Job, Membership, Tenant
from assistant.services.jobs.jobs import LongWork, look_for_jobs
from assistant.services.privacy.erasure import erase_user
from assistant.services.runs import timed_work
from assistant.services.runs.manager import Runs
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook
from tests.factories import make_member

# E-mails are sent from the event loop, whose threads have connections of their own.
in_threads = pytest.mark.django_db(transaction=True)
AGO = timedelta(seconds=-1)


def alarm(tenant: Tenant, user: User, at: timedelta = AGO, number: int = 1, **fields: Any) -> Alarm:
    """Store an alarm that has its job, as the tool does."""
    row = Alarm.objects.create(
        tenant=tenant, user=user, number=number, at=timezone.now() + at, label=f"of {user.username}", **fields
    )
    schedule_ring(row)
    return row


def work(*, is_all_due: bool = False) -> int:
    """Do the due jobs, or all that wait, with their long work; return how many."""
    if is_all_due:
        Job.objects.filter(state="waiting").update(due_at=timezone.now() + AGO)
    long: list[LongWork] = []
    done = look_for_jobs(start=long.append).done
    for one in long:
        asyncio.run(one())
    return done


def member(tenant: Tenant, user: User) -> Member:
    found = find_member(user_id=user.pk, tenant_slug=tenant.slug, with_end_users=True)
    assert found is not None
    return found


def rings(tenant: Tenant, user: User) -> list[tuple[int, int]]:
    return [(one.number, one.rings) for one in ringing_of(tenant_id=tenant.pk, user_id=user.pk)]


def test_an_alarm_rings_once_and_only_for_its_person(cast: Cast) -> None:
    alarm(cast.acme, cast.alice)
    alarm(cast.globex, cast.mallory, timedelta(hours=1))
    assert (work(), work()) == (1, 0)
    assert rings(cast.acme, cast.alice) == [(1, 1)]
    assert rings(cast.acme, cast.amy) == rings(cast.globex, cast.mallory) == rings(cast.globex, cast.alice) == []


def test_one_that_was_missed_says_that_it_is_late(cast: Cast) -> None:
    alarm(cast.acme, cast.alice, timedelta(minutes=-5))
    alarm(cast.acme, cast.alice, number=2)
    work()
    found = ringing_of(tenant_id=cast.acme.pk, user_id=cast.alice.pk)
    assert {one.number: one.is_late for one in found} == {1: True, 2: False}


def test_its_person_alone_ends_it_and_it_stays_ended(cast: Cast) -> None:
    alarm(cast.acme, cast.alice)
    work()
    for tenant, user in ((cast.acme, cast.amy), (cast.globex, cast.mallory)):
        assert end_alarm(member=member(tenant, user), number=1) is None
    assert rings(cast.acme, cast.alice) == [(1, 1)]
    for _ in range(2):
        ended = end_alarm(member=member(cast.acme, cast.alice), number=1)
        assert ended is not None and ended.state == "done"
    assert rings(cast.acme, cast.alice) == [] and work(is_all_due=True) == 0


def test_a_snoozed_one_rings_again(cast: Cast) -> None:
    alarm(cast.acme, cast.alice)
    work()
    alice = member(cast.acme, cast.alice)
    mark_seen(member=alice, number=1)
    snoozed = snooze_alarm(member=alice, number=1, minutes=10)
    assert snoozed is not None and timedelta(minutes=9) < snoozed.at - timezone.now() <= timedelta(minutes=10)
    assert rings(cast.acme, cast.alice) == []
    assert snooze_alarm(member=alice, number=1, minutes=99) == snoozed  # it does not ring, so nothing changes
    Alarm.objects.update(at=timezone.now() + AGO)
    assert work(is_all_due=True) == 1
    assert rings(cast.acme, cast.alice) == [(1, 2)]
    assert Alarm.objects.get().seen_at is None


@pytest.mark.parametrize("minutes", [0, -5, 24 * 60 + 1])
def test_a_snooze_has_bounds(cast: Cast, minutes: int) -> None:
    alarm(cast.acme, cast.alice)
    work()
    with pytest.raises(ValueError, match="minutes"):
        snooze_alarm(member=member(cast.acme, cast.alice), number=1, minutes=minutes)
    assert rings(cast.acme, cast.alice) == [(1, 1)]


@pytest.mark.parametrize("change", ["cancelled", "suspended", "deactivated", "left", "off", "erased"])
def test_what_keeps_it_from_ringing(cast: Cast, settings: Any, change: str) -> None:
    row = alarm(cast.acme, cast.alice)
    if change == "cancelled":
        Alarm.objects.update(state="cancelled")
    elif change == "suspended":
        Tenant.objects.filter(pk=cast.acme.pk).update(is_active=False)
    elif change == "deactivated":
        User.objects.filter(pk=cast.alice.pk).update(is_active=False)
    elif change == "left":
        Membership.objects.filter(user=cast.alice).delete()
    elif change == "off":
        settings.ASSISTANT_LIBRARY = ["schedules"]
    else:
        erase_user(user=cast.alice, actor=None)
    work()
    assert not Alarm.objects.filter(pk=row.pk, state="ringing").exists()
    assert not Job.objects.exclude(name=RING_JOB).exists()


@pytest.fixture
def post(settings: Any) -> None:
    """The project sends e-mail, and Alice has an address."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    User.objects.filter(username="alice").update(email="alice@acme.example")


@in_threads
def test_one_that_no_chat_shows_is_told_once_by_mail_and_webhook(
    cast: Cast, post: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody closes connections of the thread that sends: its language is read before.
    monkeypatch.setattr("assistant.services.tenancy.mail.language_of_address", None)
    hook(cast.acme, "https://crm.example/in", events=["alarm.unseen"])
    hook(cast.globex, "https://crm.example/in", events=["alarm.unseen"])
    alarm(cast.acme, cast.alice)
    work()
    assert mail.outbox == []
    assert (work(is_all_due=True), work(is_all_due=True)) == (1, 0)
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["alice@acme.example"], "Alarm: of alice")
    assert "(Europe/Vienna)" in sent.body
    delivery = WebhookDelivery.objects.get()
    told = json.loads(delivery.body)["data"]
    assert delivery.tenant == cast.acme and told["alarm"] == 1 and told["rings"] == 1
    assert "of alice" not in delivery.body


def test_one_that_a_chat_shows_is_not_told_elsewhere(cast: Cast, post: None) -> None:
    hook(cast.acme, "https://crm.example/in", events=["alarm.unseen"])
    alarm(cast.acme, cast.alice)
    work()
    mark_seen(member=member(cast.globex, cast.mallory), number=1)
    assert Alarm.objects.get().seen_at is None
    mark_seen(member=member(cast.acme, cast.alice), number=1)
    work(is_all_due=True)
    assert mail.outbox == [] and not WebhookDelivery.objects.exists()


@pytest.mark.parametrize("who", ["person", "tenant", "end user"])
def test_who_gets_no_mail_is_told_by_webhook_alone(cast: Cast, post: None, who: str) -> None:
    hook(cast.acme, "https://crm.example/in", events=["alarm.unseen"])
    user = cast.alice
    if who == "person":
        PersonAlarms.objects.create(user=user, are_mailed=False)
    elif who == "tenant":
        TenantAlarms.objects.create(tenant=cast.acme, are_mailed=False)
    else:
        user = make_member(cast.acme, "visitor", role=Membership.Role.END_USER)
        User.objects.filter(pk=user.pk).update(email="visitor@shop.example")
        EndUser.objects.create(tenant=cast.acme, user=user, external_id="c-1", seen_at=timezone.now())
    alarm(cast.acme, user)
    work()
    work(is_all_due=True)
    assert mail.outbox == []
    told = json.loads(WebhookDelivery.objects.get().body)["data"]
    assert told.get("end_user") == ("c-1" if who == "end user" else None)


@in_threads
def test_a_label_that_text_from_outside_may_have_chosen_is_not_mailed(cast: Cast, post: None) -> None:
    alarm(cast.acme, cast.alice, sources=["web_search"])
    work()
    work(is_all_due=True)
    (sent,) = mail.outbox
    assert sent.subject == "Your alarm" and "of alice" not in sent.body


@in_threads
def test_a_mail_that_cannot_be_sent_is_tried_a_few_times(cast: Cast, settings: Any, post: None) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.Unreachable"
    alarm(cast.acme, cast.alice)
    work()
    for _ in range(MAIL_TRIES):
        assert work(is_all_due=True) == 1
    assert Alarm.objects.get().mail_tries == MAIL_TRIES
    work(is_all_due=True)
    assert (Alarm.objects.get().mail_tries, work(is_all_due=True)) == (MAIL_TRIES, 0)


class Unreachable:
    """A mail server that cannot be reached."""

    def __init__(self, **_: Any) -> None:
        raise OSError("unreachable")


def test_the_search_for_due_jobs_sees_the_next_one_by_the_same_query(cast: Cast) -> None:
    alarm(cast.acme, cast.alice, timedelta(seconds=4))
    with CaptureQueriesContext(connection) as queries:
        look = look_for_jobs(start=lambda work: None, ahead=5.0)
    assert look.done == 0 and look.next_in is not None and 0 < look.next_in <= 4
    assert len(queries) == 1
    assert look_for_jobs(start=lambda work: None, ahead=0.5).next_in is None


@in_threads
async def test_alarms_ring_at_their_moment_and_not_at_the_next_search(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was there when the process started, and one that is set later, in the same process."""
    await sync_to_async(alarm)(cast.acme, cast.alice, timedelta(seconds=2))
    monkeypatch.setattr(timed_work, "JOBS_SECONDS", 3600.0)
    runs = Runs()
    await runs.start()
    try:
        await ringing_numbers(cast, [1])
        await sync_to_async(alarm)(cast.acme, cast.alice, timedelta(seconds=1), number=2)
        await ringing_numbers(cast, [1, 2])
    finally:
        await runs.stop()


async def ringing_numbers(cast: Cast, wanted: list[int]) -> None:
    async with asyncio.timeout(60):
        while [one async for one in rung(cast)] != wanted:
            await asyncio.sleep(0.05)


def rung(cast: Cast) -> Any:
    found = Alarm.objects.filter(tenant=cast.acme, state="ringing").order_by("number")
    return found.values_list("number", flat=True)


@in_threads
def test_alarms_leave_with_their_person(cast: Cast) -> None:
    alarm(cast.acme, cast.alice)
    alarm(cast.acme, cast.amy)
    erase_user(user=cast.alice, actor=None)
    assert [row.user for row in own_alarms(member(cast.acme, cast.amy))] == [cast.amy]
    assert Alarm.objects.count() == 1
