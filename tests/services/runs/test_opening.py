"""Opening and closing a run: its cost, and that exactly one of many simultaneous requests opens it."""

from __future__ import annotations

import sqlite3
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from assistant.core.values.messages import Message, Usage
from assistant.core.values.timeline import Timeline
from assistant.models import ApiKey, Conversation, Run, Tenant, UsageEntry
from assistant.models import Message as MessageRow
from assistant.models.fields import WhenBusy
from assistant.services.errors import Refused
from assistant.services.runs.closing import Ending, close_run
from assistant.services.runs.input.forwarded_props import ForwardedProps
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.opening_query import read_opening_state
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.run_configurations import record_of
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.tenancy.members import Member
from tests.base import Cast
from tests.factories import switch_tool

QUERIES_OF_A_TURN = 8
# The most calls of Python functions to open and to close a run. Half are Django's, which compiles the writes each time.
CALLS_OF_A_TURN = {"sqlite": 4_700, "postgresql": 5_420}
SAVEPOINT = 32  # SQLITE_SAVEPOINT of SQLite's authorizer
FINISHED = Ending("finished", {"type": "RUN_FINISHED"})


def given(thread: uuid.UUID, run_id: str = "", message_id: str = "") -> RunInput:
    return RunInput(
        thread_id=thread,
        run_id=run_id or str(uuid.uuid4()),
        message=TextMessage(message_id or str(uuid.uuid4()), "Hello"),
        tool_answers=(),
        resume=(),
        client_tools=(),
    )


def begin(alice_member: Member, thread: uuid.UUID, run_id: str = "") -> OpenedRun:
    """Open a run as the websocket does."""
    return open_run(
        member=alice_member, assistant_slug="support", given=given(thread, run_id), owner="here", is_counted=True
    )


def take_turn(alice_member: Member, thread: uuid.UUID) -> None:
    opened = begin(alice_member, thread)
    setup = opened.setup
    assert setup is not None
    answer = Message("assistant", "Hi", id=str(uuid.uuid4()))
    usage = {("provider", "model"): Usage(10, 5)}
    close_run(
        key=opened.key,
        messages=[answer],
        usage=usage,
        ending=FINISHED,
        last_seq=7,
        position=setup.position,
        is_heard=setup.is_heard,
        make_record=lambda: record_of(setup, {}, Timeline()),
    )


def warm_up(alice_member: Member, thread: uuid.UUID) -> None:
    """Take a turn after which the process knows that the configuration is stored, as it does once an hour."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        take_turn(alice_member, thread)


def lengthen(thread: uuid.UUID, messages: int) -> None:
    """Add `messages` to a conversation that has one run."""
    MessageRow.objects.bulk_create(
        MessageRow(
            conversation_id=thread,
            position=2 + number,
            message_id=f"m{number}",
            role="assistant" if number % 2 else "user",
            content="Words",
        )
        for number in range(messages)
    )
    Conversation.objects.filter(pk=thread).update(message_count=2 + messages)


@pytest.mark.parametrize(("before", "has_key"), [(0, False), (2, False), (500, False), (0, True), (500, True)])
def test_the_number_of_queries_of_a_run_does_not_depend_on_the_history(
    alice_member: Member, before: int, has_key: bool
) -> None:
    if has_key:
        key = ApiKey.objects.create(
            tenant_id=alice_member.tenant_id, user_id=alice_member.user_id, name="k", hashed="h"
        )
        alice_member = replace(alice_member, key_id=key.pk)
    switch_tool(Tenant.objects.get(slug="acme"), "current_time")
    warm_up(alice_member, uuid.uuid4())  # Django looks once at what the database can do
    thread = uuid.uuid4()
    if before:
        take_turn(alice_member, thread)
        lengthen(thread, before - 2)
    with CaptureQueriesContext(connection) as queries:
        take_turn(alice_member, thread)
    asked = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]  # those are the test's transaction's
    assert len(asked) == QUERIES_OF_A_TURN, "\n".join(asked)
    positions = MessageRow.objects.filter(conversation=thread).values_list("position", flat=True)
    assert sorted(positions) == list(range(before + 2))
    conversation = Conversation.objects.get(pk=thread)
    assert (conversation.run_count, conversation.message_count) == (2 if before else 1, before + 2)


def test_a_run_costs_a_bounded_number_of_function_calls(alice_member: Member) -> None:
    thread, calls = uuid.uuid4(), 0
    for _ in range(2):  # SQL is written at first use
        warm_up(alice_member, thread)

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        take_turn(alice_member, thread)
    finally:
        sys.setprofile(None)
    assert calls <= CALLS_OF_A_TURN[connection.vendor]


@pytest.mark.once  # of SQLite
def test_sqlite_reuses_the_plans_of_a_runs_statements(alice_member: Member) -> None:
    """SQLite calls its authorizer only while it plans a statement."""
    thread, planned = uuid.uuid4(), []
    for _ in range(2):
        take_turn(alice_member, thread)

    def note(*action: object) -> int:
        planned.append(action)
        return sqlite3.SQLITE_OK

    connection.connection.set_authorizer(note)
    try:
        take_turn(alice_member, thread)  # a new authorizer is asked about every statement once
        assert planned
        planned.clear()
        take_turn(alice_member, thread)
    finally:
        connection.connection.set_authorizer(None)
    # The savepoints of the test's own transaction have names of their own.
    assert [action for action in planned if action[0] != SAVEPOINT] == []


def test_a_run_that_another_process_closes_is_counted(alice_member: Member) -> None:
    thread = uuid.uuid4()
    opened = begin(alice_member, thread)
    close_run(key=opened.key, messages=[Message("assistant", "Hi", id="a")], usage={}, ending=FINISHED, last_seq=3)
    take_turn(alice_member, thread)
    assert MessageRow.objects.filter(conversation=thread).count() == 4
    assert Conversation.objects.get(pk=thread).message_count == 4


@pytest.mark.parametrize("wanted", [WhenBusy.QUEUE, WhenBusy.REPLACE])
def test_a_run_that_ends_while_the_next_is_refused_keeps_nobody_waiting(
    alice_member: Member, monkeypatch: pytest.MonkeyPatch, wanted: WhenBusy
) -> None:
    thread = uuid.uuid4()
    opened = begin(alice_member, thread)

    asked = replace(given(thread), options=ForwardedProps(when_busy=wanted))
    names = {"run_id": asked.run_id, "message_id": ""}
    states = [read_opening_state(alice_member, "support", thread, **names)]
    assert states[0] is not None and states[0].is_busy
    close_run(key=opened.key, messages=[], usage={}, ending=FINISHED, last_seq=3)

    def read_late(*args: Any, **more: Any) -> Any:
        return states.pop() if states else read_opening_state(*args, **more)

    monkeypatch.setattr("assistant.services.runs.opening.open_run.read_opening_state", read_late)
    follower = open_run(member=alice_member, assistant_slug="support", given=asked, owner="here")
    assert follower.setup is not None and Run.objects.count() == 2


def test_a_former_member_cannot_open_a_run(alice_member: Member, cast: Cast) -> None:
    thread = uuid.uuid4()
    take_turn(alice_member, thread)
    cast.alice.assistant_memberships.all().delete()
    with pytest.raises(Refused, match="not available"):
        begin(alice_member, thread)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_known", [True, False], ids=["a known thread", "a new thread"])
def test_of_many_simultaneous_requests_one_opens_a_run(alice_member: Member, is_known: bool) -> None:
    thread = uuid.uuid4()
    if is_known:
        take_turn(alice_member, thread)
    before = Run.objects.count()

    def attempt(number: int) -> str:
        try:
            return "begun" if begin(alice_member, thread, f"run-{number % 4}").setup else "found"
        except Refused as exc:
            return exc.code
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(24)))
    assert outcomes.count("begun") == 1
    assert outcomes.count("found") == 5
    assert outcomes.count("thread_busy") == 18
    assert Run.objects.count() == before + 1
    assert not UsageEntry.objects.filter(run__status="running").exists()
