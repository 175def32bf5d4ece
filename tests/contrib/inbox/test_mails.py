"""E-mails about approvals that wait: to whom, how often, and never twice for the same."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from assistant.contrib.end_users.models import EndUser
from assistant.contrib.inbox.models import MemberInbox, PersonInbox
from assistant.contrib.inbox.services.mails import order_mails
from assistant.models import Job, Membership, Run, ToolCall
from assistant.services.jobs.jobs import LongWork, look_for_jobs
from tests.base import Cast
from tests.factories import make_conversation, make_run

# E-mails are sent from the event loop, whose threads have connections of their own.
pytestmark = pytest.mark.django_db(transaction=True)
AGO = timedelta(minutes=6)


@pytest.fixture(autouse=True)
def _mail(settings: Any, cast: Cast) -> None:
    settings.EMAIL_HOST = "mail.example.com"
    settings.ASSISTANT_PUBLIC_URL = "https://assistant.example.com/"
    cast.alice.email = "alice@example.com"
    cast.alice.save()


def wait(cast: Cast, ago: timedelta = AGO, user: Any = None) -> ToolCall:
    whose = user or cast.alice
    conversation = make_conversation(whose, cast.support, title="A secret title")
    run = make_run(conversation, status=Run.Status.WAITING, ended_at=timezone.now())
    call = ToolCall.objects.create(
        tenant=cast.acme,
        run=run,
        user=whose,
        call_id="c1",
        name="update_customer",
        status=ToolCall.Status.AWAITING_APPROVAL,
    )
    ToolCall.objects.filter(pk=call.pk).update(started_at=timezone.now() - ago)
    return call


def sent() -> int:
    """Look for what waits, do the work, and return how many e-mails were sent by it."""
    before = len(mail.outbox)
    order_mails()
    long: list[LongWork] = []
    look_for_jobs(start=long.append)
    for one in long:
        asyncio.run(one())
    return len(mail.outbox) - before


def later(hours: float) -> None:
    """Let the last e-mail be that much older."""
    for row in MemberInbox.objects.exclude(told_at=None):
        moved = {name: getattr(row, name) - timedelta(hours=hours) for name in ("told_at", "tried_at")}
        MemberInbox.objects.filter(pk=row.pk).update(**moved)


def test_one_message_names_how_many_wait_and_where_and_nothing_of_what_was_said(cast: Cast) -> None:
    wait(cast)
    wait(cast)
    assert (sent(), sent()) == (1, 0)
    (message,) = mail.outbox
    assert message.to == ["alice@example.com"]
    assert "2 conversations" in message.subject
    assert "https://assistant.example.com/t/acme/inbox/" in message.body
    assert "secret" not in message.subject + message.body


def test_what_is_answered_in_five_minutes_needs_no_message(cast: Cast) -> None:
    wait(cast, timedelta(minutes=4))
    assert sent() == 0


@pytest.mark.parametrize(("wish", "hours"), [("at_once", 0.2), ("hourly", 1.1), ("daily", 24.1)])
def test_the_next_message_comes_when_the_time_is_over_that_a_person_has_set(
    cast: Cast, wish: str, hours: float
) -> None:
    PersonInbox.objects.create(user=cast.alice, mails=wish)
    wait(cast)
    assert sent() == 1
    wait(cast, timedelta(minutes=5, seconds=30))
    if wish != "at_once":
        later(hours / 2)
        assert sent() == 0
    later(hours)
    assert sent() == 1


@pytest.mark.parametrize("reason", ["never", "switched off", "no address", "answered", "end user", "left"])
def test_nobody_is_written_to_who_should_not_be(cast: Cast, settings: Any, reason: str) -> None:
    call = wait(cast)
    if reason == "never":
        PersonInbox.objects.create(user=cast.alice, mails="never")
    elif reason == "switched off":
        settings.ASSISTANT_INBOX_MAILS = False
    elif reason == "no address":
        type(cast.alice).objects.filter(pk=cast.alice.pk).update(email="")
    elif reason == "answered":
        ToolCall.objects.filter(pk=call.pk).update(status=ToolCall.Status.OK)
    elif reason == "end user":
        Membership.objects.filter(user=cast.alice).update(role=Membership.Role.END_USER)
        EndUser.objects.create(tenant=cast.acme, user=cast.alice, external_id="x", seen_at=timezone.now())
    else:
        cast.alice.assistant_memberships.all().delete()
    assert sent() == 0


def test_a_message_that_could_not_be_sent_is_tried_again_later(cast: Cast, settings: Any) -> None:
    wait(cast)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = 1
    assert sent() == 0
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert sent() == 0  # not at once
    MemberInbox.objects.update(tried_at=timezone.now() - AGO)
    Job.objects.all().delete()
    assert sent() == 1
