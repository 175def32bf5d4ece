"""Waiting calls elsewhere: what a tool may return, other callers, and retention."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.client import ChatClient
from assistant.contrib.later_results.models import PendingCall
from assistant.models import Run, ToolCall
from assistant.providers import ScriptedModel
from assistant.services.privacy.retention import apply_retention
from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import InvalidTool, Pending
from tests.base import Cast
from tests.contrib.later_results.waiting import ask_bank, tokens
from tests.factories import make_conversation, make_run


def waiting(cast: Cast) -> PendingCall:
    """A call of Alice's that waits."""
    run = make_run(make_conversation(cast.alice, cast.support), status=Run.Status.WAITING)
    ending = {"outcome": {"type": "interrupt", "interrupts": [{"id": "c1", "toolCallId": "c1"}]}}
    Run.objects.filter(pk=run.pk).update(ending=ending)
    call = ToolCall.objects.create(tenant=cast.acme, run=run, call_id="c1", name="ask_bank", status="pending")
    until = timezone.now() + timedelta(days=3)
    return PendingCall.objects.create(
        tenant=cast.acme, call=call, run=run, hashed="h", state="waiting", until=until, note="the bank"
    )


@pytest.mark.parametrize(
    "until",
    [
        datetime(2111, 1, 1),
        datetime(2000, 1, 1, tzinfo=UTC),
        timedelta(0),
        timedelta(days=91),
    ],
)
def test_a_time_that_cannot_be_waited_for_is_a_developers_mistake(until: Any) -> None:
    with pytest.raises(InvalidTool, match="until"):
        Pending(until)


def test_a_time_from_now_is_a_moment_and_a_note_is_short() -> None:
    pending = Pending(timedelta(days=1), note="x" * 300)
    assert timedelta(hours=23) < pending.ends_at - datetime.now(UTC) <= timedelta(days=1)
    assert len(pending.note) == 200


def test_a_tool_is_tested_with_a_callback() -> None:
    result = ToolTester(ask_bank).run(question="May we?")
    assert result.pending is not None and result.pending.note == "the bank" and tokens.pop() == "test-token"


def test_a_client_without_a_server_refuses_a_tool_that_waits() -> None:
    with pytest.raises(InvalidTool, match="waits for results from outside"):
        ChatClient(model=ScriptedModel(["Hi"]), tools=[ask_bank])


@pytest.mark.django_db
def test_what_has_come_is_kept_as_long_as_calls_are(cast: Cast) -> None:
    from assistant.models import Retention

    row = waiting(cast)
    Retention.objects.create(tenant=cast.acme, tool_calls=30)
    old = timezone.now() - timedelta(days=40)
    PendingCall.objects.update(created_at=old)
    ToolCall.objects.update(started_at=old)
    apply_retention(tenant=cast.acme)
    assert PendingCall.objects.filter(pk=row.pk).exists()  # it still waits
    ToolCall.objects.update(status="ok")
    apply_retention(tenant=cast.acme)
    assert not PendingCall.objects.exists()
