"""Schedules ask their question once at each moment, in their member's name, and deliver the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone

from assistant.contrib.timed.models import Schedule, ScheduleRun
from assistant.contrib.timed.services.schedules import firing, schedules
from assistant.contrib.timed.services.schedules.moments import next_moment
from assistant.contrib.timed.services.schedules.schedules import (
    ScheduleDraft,
    ScheduleRefused,
    delete_schedule,
    make_schedule,
    own_schedules,
    set_paused,
    stop_schedule,
)
from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.models import (
    Assistant,
    AuditEntry,
    Conversation,
    Job,
    Membership,
    Message,
    PersonSettings,
    Provider,
    Run,
    Tenant,
    ToolCall,
)
from assistant.services.jobs.jobs import LongWork
from assistant.services.runs.manager import get_runs
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.services.jobs.due_jobs import do_due_jobs
from tests.websocket.test_websocket import until

in_threads = pytest.mark.django_db(transaction=True)
QUESTION = "Which orders are open?"


def member(tenant: Tenant, user: User) -> Member:
    found = find_member(user_id=user.pk, tenant_slug=tenant.slug)
    assert found is not None
    return found


def draft(**fields: Any) -> ScheduleDraft:
    """Every Monday at 9 for a month."""
    ends_at = timezone.now() + timedelta(days=30)
    values = {"cron": "0 9 * * 1", "ends_at": ends_at, "budget": 1_000_000}
    return ScheduleDraft(**{"assistant": "support", "name": "Open orders", "prompt": QUESTION, **values, **fields})


def make(cast: Cast, **fields: Any) -> Schedule:
    return make_schedule(member=member(cast.acme, cast.alice), draft=draft(**fields))


def come_due(row: Schedule, ago: timedelta = timedelta(seconds=1)) -> datetime:
    """Have a schedule's next moment be that long ago."""
    due_at = (timezone.now() - ago).replace(microsecond=0)
    Schedule.objects.filter(pk=row.pk).update(next_at=due_at)
    Job.objects.filter(key=str(row.pk), name="schedule.due").update(due_at=due_at)
    return due_at


def fire(row: Schedule, ago: timedelta = timedelta(seconds=1)) -> None:
    """Have a schedule be due, and store it, without asking."""
    come_due(row, ago)
    do_due_jobs()
    row.refresh_from_db()


async def ask() -> int:
    """Do what is due, with its long work; return how many jobs there were."""
    done = 0
    while True:
        long: list[LongWork] = []
        count = await sync_to_async(do_due_jobs)(start=long.append)
        done += count
        await asyncio.gather(*(work() for work in long))
        if not count:
            return done


@pytest.mark.parametrize(
    ("line", "after", "wanted"),
    [
        ("0 9 * * 1", "2026-11-21T12:00+01:00", "2026-11-23T09:00+01:00"),
        # The clocks are set forward over 2:30, and back to it.
        ("30 2 * * *", "2026-03-28T03:00+01:00", "2026-03-29T03:00+02:00"),
        ("30 2 * * *", "2026-10-25T02:31+02:00", "2026-10-26T02:30+01:00"),
        ("0 9 * * *", "2026-10-24T10:00+02:00", "2026-10-25T09:00+01:00"),
    ],
)
def test_the_next_moment_is_by_the_clocks_of_the_time_zone(line: str, after: str, wanted: str) -> None:
    found = next_moment(line, "Europe/Vienna", datetime.fromisoformat(after))
    assert found is not None and found.astimezone(UTC) == datetime.fromisoformat(wanted)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cron": "* * * * *"},
        {"cron": "0,10 9 * * *"},
        {"cron": "0 9 * *"},
        {"cron": "0 0 30 2 *"},
        {"cron": "1 2 3 4 5 6"},
        {"cron": "x" * 101},
        {"budget": None},
        {"budget": 0},
        {"ends_at": None},
        {"ends_at": timezone.now() + timedelta(minutes=1), "cron": "0 9 1 1 *"},
        {"ends_at": timezone.now() + timedelta(days=400)},
        {"at": timezone.now() + timedelta(days=1)},
        {"cron": "", "at": None},
        {"cron": "", "at": timezone.now() - timedelta(days=1)},
        {"timezone": "Mars/Olympus"},
        {"assistant": "nobody"},
        {"prompt": " "},
        {"prompt": "x" * 4001},
        {"name": ""},
        {"delivery": "pigeon"},
        {"missed": "cry"},
    ],
)
def test_what_cannot_be_a_schedule_is_refused(cast: Cast, wrong: dict[str, Any]) -> None:
    with pytest.raises(ScheduleRefused):
        make(cast, **wrong)
    assert not Schedule.objects.exists() and not Job.objects.exists()


def test_schedules_are_a_members_own_and_limited(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    row = make(cast)
    assert list(own_schedules(member(cast.acme, cast.amy))) == []
    assert list(own_schedules(member(cast.globex, cast.mallory))) == []
    assert AuditEntry.objects.get(action="schedule.create").actor == cast.alice
    monkeypatch.setattr("assistant.contrib.timed.services.schedules.schedules.MAX_OF_MEMBER", 1)
    with pytest.raises(ScheduleRefused, match="too many"):
        make(cast)
    delete_schedule(row=row, actor=cast.alice)
    assert not Job.objects.filter(state="waiting").exists()
    make(cast)


def test_the_same_call_makes_one_schedule(cast: Cast) -> None:
    assert make(cast, idempotency_key="call 1") == make(cast, idempotency_key="call 1")


@in_threads
async def test_a_due_one_asks_once_in_a_conversation_of_its_member(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Two are open.")
    row = await sync_to_async(make)(cast)
    due_at = await sync_to_async(come_due)(row)
    assert (await ask(), await ask()) == (2, 0)
    due = await ScheduleRun.objects.aget()
    assert (due.state, due.due_at, due.problem) == ("finished", due_at, "")
    talk = await Conversation.objects.select_related("user", "tenant").aget(pk=str(due.conversation_id))
    assert (talk.title, talk.user, talk.tenant) == ("Open orders", cast.alice, cast.acme)
    said = [one.content async for one in Message.objects.filter(conversation=talk).order_by("position")]
    assert said == [QUESTION, "Two are open."]
    await row.arefresh_from_db()
    assert row.state == "on" and row.next_at is not None and row.next_at > timezone.now()
    await get_runs().stop()


@in_threads
async def test_a_process_that_died_is_followed_by_another_and_there_is_one_run(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Two are open.")
    row = await sync_to_async(make)(cast)
    await sync_to_async(come_due)(row)
    long: list[LongWork] = []
    for _ in range(2):
        await sync_to_async(do_due_jobs)(start=long.append)
    assert len(long) == 1  # taken by a process that dies before its work
    due_at = timezone.now() - timedelta(seconds=1)
    await Job.objects.filter(state="waiting", name="schedule.ask").aupdate(due_at=due_at)
    assert await ask() == 1
    await long[0]()  # it was not dead
    assert await Run.objects.acount() == await ScheduleRun.objects.acount() == 1
    assert len(fake_provider.requests) == 1
    await get_runs().stop()


@in_threads
async def test_nobody_is_asked_so_a_tool_that_asks_first_is_refused(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "update_customer", "ask")
    fake_provider.call("update_customer", {"customer_id": 42, "city": "Wien"})
    fake_provider.reply("I may not.")
    row = await sync_to_async(make)(cast)
    await sync_to_async(come_due)(row)
    await ask()
    assert (await ScheduleRun.objects.aget()).state == "finished"
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.REFUSED
    await get_runs().stop()


@in_threads
async def test_what_the_model_that_wrote_the_question_had_read_marks_the_run(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "set_alarm", "on")
    fake_provider.call("set_alarm", {"at": "in 10 minutes"})
    fake_provider.reply("I may not.")
    row = await sync_to_async(make)(cast, sources=("mail.eml",))
    await sync_to_async(come_due)(row)
    await ask()
    assert (await Message.objects.aget(role="user")).sources == ["mail.eml"]
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.REFUSED
    await get_runs().stop()


@in_threads
async def test_a_tenants_many_questions_do_not_keep_anothers_waiting(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firing, "AT_ONCE_OF_TENANT", 2)
    gate = fake_provider.gate()
    for _ in range(2):
        fake_provider.reply(chunks=["Wait", gate])
    for name in ("a", "b", "c"):
        await sync_to_async(come_due)(await sync_to_async(make)(cast, name=name))
    long: list[LongWork] = []
    await sync_to_async(do_due_jobs)(start=long.append)
    await sync_to_async(do_due_jobs)(start=long.append)
    acmes = [asyncio.create_task(work()) for work in long]
    await until(lambda: len(fake_provider.requests) == 2)
    fake_provider.reply("At once.")
    of_globex = draft(assistant=cast.rival_support.slug)
    row = await sync_to_async(make_schedule)(
        member=await sync_to_async(member)(cast.globex, cast.mallory), draft=of_globex
    )
    await sync_to_async(come_due)(row)
    await ask()
    assert (await ScheduleRun.objects.aget(tenant=cast.globex)).state == "finished"
    assert len(acmes) == 3 and await ScheduleRun.objects.filter(tenant=cast.acme, state="running").acount() == 3
    fake_provider.reply("The third.")
    gate.release()
    await asyncio.gather(*acmes)
    assert await ScheduleRun.objects.filter(state="finished").acount() == 4
    await get_runs().stop()


@in_threads
async def test_a_failure_is_told(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> None:
    fake_provider.respond(400, {"error": {"message": "no"}})
    row = await sync_to_async(make)(cast, delivery="webhook")
    await sync_to_async(hook)(cast.acme, "https://crm.example/in", events=["schedule.finished"])
    await sync_to_async(hook)(cast.globex, "https://crm.example/in", events=["schedule.finished"])
    await sync_to_async(come_due)(row)
    await ask()
    due = await ScheduleRun.objects.aget()
    assert due.state == "failed" and due.problem
    delivery = await WebhookDelivery.objects.select_related("tenant").aget()
    told = json.loads(delivery.body)["data"]
    assert delivery.tenant == cast.acme and (told["schedule"], told["status"]) == (row.pk, "failed")
    await get_runs().stop()


@in_threads
async def test_an_answer_is_mailed_once_under_one_message_id(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.services.tenancy.mail.language_of_address", None)  # it would need the database
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    await User.objects.filter(pk=cast.alice.pk).aupdate(email="alice@acme.example")
    fake_provider.reply("Two are open.")
    row = await sync_to_async(make)(cast, delivery="email")
    await sync_to_async(come_due)(row)
    await ask()
    due = await ScheduleRun.objects.aget()
    (sent,) = mail.outbox
    assert sent.subject == "Open orders" and "Two are open." in sent.body and QUESTION in sent.body
    assert sent.extra_headers["Message-ID"].startswith(f"<schedule-run-{due.pk}@")
    assert due.delivered_at is not None and not await Job.objects.filter(state="waiting", name="schedule.ask").aexists()
    await get_runs().stop()


def test_a_clock_behind_that_of_the_database_keeps_nothing_from_firing(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, behind = make(cast), timezone.now() - timedelta(minutes=1)
    monkeypatch.setattr(firing, "timezone", SimpleNamespace(now=lambda: behind))
    fire(row)
    assert ScheduleRun.objects.count() == 1


@in_threads
async def test_who_has_lost_access_gets_no_mail(cast: Cast, provider: Provider, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    await User.objects.filter(pk=cast.alice.pk).aupdate(email="alice@acme.example")
    row = await sync_to_async(make)(cast, delivery="email")
    await sync_to_async(come_due)(row)
    await sync_to_async(do_due_jobs)(start=lambda work: None)
    await ScheduleRun.objects.aupdate(state="finished", ended_at=timezone.now())
    await Membership.objects.filter(user=cast.alice).adelete()
    await Job.objects.filter(state="waiting").aupdate(due_at=timezone.now() - timedelta(seconds=1))
    await ask()
    assert await ScheduleRun.objects.filter(delivered_at=None).aexists() and not mail.outbox
    await get_runs().stop()


def test_one_that_has_stopped_goes_on_within_the_limit(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "MAX_OF_MEMBER", 1)
    row = make(cast)
    stop_schedule(row, "Its assistant is not active.")
    make(cast)
    with pytest.raises(ScheduleRefused, match="too many"):
        set_paused(row=row, is_paused=False, actor=row.user)


LATE = timedelta(hours=3)


@pytest.mark.parametrize(("missed", "state"), [("run", "running"), ("skip", "skipped")])
def test_what_was_missed_is_asked_once_or_skipped(cast: Cast, missed: str, state: str) -> None:
    row = make(cast, cron="0 * * * *", missed=missed)
    fire(row, LATE)
    assert list(ScheduleRun.objects.values_list("state", flat=True)) == [state]
    assert row.next_at is not None and row.next_at > timezone.now()
    assert Job.objects.filter(name="schedule.ask").exists() is (state == "running")


STOPS: dict[str, Callable[[Cast], object]] = {
    "Its member has no access any more.": lambda cast: Membership.objects.filter(user=cast.alice).delete(),
    "Its assistant is not active.": lambda cast: Assistant.objects.filter(pk=cast.support.pk).update(is_active=False),
    "Its budget is used up.": lambda cast: ScheduleRun.objects.create(
        tenant=cast.acme, schedule=Schedule.objects.get(), due_at=timezone.now() - LATE, cost=1_000_000
    ),
}


@pytest.mark.parametrize("reason", STOPS)
def test_what_stops_a_schedule_is_shown(cast: Cast, reason: str) -> None:
    row = make(cast)
    STOPS[reason](cast)
    fire(row)
    assert (row.state, row.reason) == ("stopped", reason)
    assert not ScheduleRun.objects.filter(state="running", cost=0).exists()
    assert not Job.objects.filter(state="waiting").exists()


@pytest.mark.parametrize("change", ["suspended", "deactivated"])
def test_a_suspended_tenant_and_a_deactivated_member_ask_nothing(cast: Cast, change: str) -> None:
    row = make(cast)
    if change == "suspended":
        Tenant.objects.filter(pk=cast.acme.pk).update(is_active=False)
    else:
        User.objects.filter(pk=cast.alice.pk).update(is_active=False)
    fire(row)
    assert row.state == "stopped" and not ScheduleRun.objects.exists()
    assert row.reason == ("Its tenant is suspended." if change == "suspended" else "Its member has no access any more.")


def test_one_moment_is_asked_once_and_is_over(cast: Cast) -> None:
    at = timezone.now() + timedelta(hours=1)
    row = make(cast, cron="", at=at, ends_at=None, budget=None)
    fire(row)
    assert (row.state, row.next_at, ScheduleRun.objects.count()) == ("done", None, 1)


def test_a_paused_one_asks_nothing_until_it_goes_on(cast: Cast) -> None:
    row = make(cast)
    set_paused(row=row, is_paused=True, actor=cast.alice)
    assert not Job.objects.filter(state="waiting").exists()
    row = set_paused(row=row, is_paused=False, actor=cast.alice)
    assert row.state == "on" and Job.objects.get(state="waiting").due_at == row.next_at


def test_the_operators_switch_holds_them_back(cast: Cast, settings: Any) -> None:
    row = make(cast)
    settings.ASSISTANT_SCHEDULES = False
    fire(row)
    assert row.state == "on" and not ScheduleRun.objects.exists()
    with pytest.raises(ScheduleRefused, match="off"):
        make(cast)
    settings.ASSISTANT_SCHEDULES = True
    Job.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    do_due_jobs()
    assert ScheduleRun.objects.count() == 1


@in_threads
async def test_a_schedules_question_is_answered_in_its_members_language(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await PersonSettings.objects.acreate(user=cast.alice, language="de")
    await sync_to_async(come_due)(await sync_to_async(make)(cast))
    fake_provider.respond(401)
    await ask()
    assert (await Run.objects.aget()).error_message.startswith("Der Anbieter")
