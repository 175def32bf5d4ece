"""Clocks that are wrong or jump end no run and no approval."""

from __future__ import annotations

import json
import re
import urllib.request
from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.core.values.messages import ToolCall as Call
from assistant.models import Provider, Run, ToolCall
from assistant.services.db.clock import ClockWatch, DatabaseTime, database_time
from assistant.services.run_key import key_of
from assistant.services.runs import approval_expiry
from assistant.services.runs.approval_expiry import expire_approvals
from assistant.services.runs.leases import LEASE_SECONDS, renew_leases, take_over_dead_runs
from assistant.services.toolcalls.run_journal import record_outcomes
from tests.base import Cast
from tests.factories import make_conversation, make_run
from tests.fake_provider import FakeProvider
from tests.live import serve
from tests.services.db.test_clock import DAY, HOUR, JUMPS, reading, watched
from tests.websocket.test_websocket import until
from tests.ws import open_socket

TOKEN = "of-the-tests-of-clocks"


def make_running(cast: Cast, *, lease: float) -> Run:
    """A run of another process, whose lease ends so many seconds from now."""
    until = timezone.now() + timedelta(seconds=lease)
    conversation = make_conversation(cast.alice, cast.support)
    return make_run(conversation, status=Run.Status.RUNNING, lease_owner="another", lease_until=until)


def taken(clock: ClockWatch) -> int:
    return len(take_over_dead_runs(owner="me", clock=clock))


@pytest.mark.parametrize("jump", JUMPS)
def test_a_jump_of_the_database_s_clock_costs_no_run(cast: Cast, jump: float) -> None:
    before = reading(ago=5, ahead=-jump)
    make_running(cast, lease=10 - jump)
    assert taken(watched(before)) == 0
    # Its process renews the lease within 5 s, by the clock as it is now.
    renew_leases(owner="another", runs=[Run.objects.get().pk])
    assert taken(watched(reading(ago=40, ahead=-jump), reading(ago=30))) == 0


@pytest.mark.parametrize("jump", JUMPS)
def test_a_run_that_died_before_a_jump_is_found_after_the_length_of_a_lease(cast: Cast, jump: float) -> None:
    make_running(cast, lease=10 - jump)
    recent = watched(reading(ago=LEASE_SECONDS + 5, ahead=-jump), reading(ago=LEASE_SECONDS - 5))
    assert taken(recent) == 0
    assert taken(watched(reading(ago=LEASE_SECONDS + 10, ahead=-jump), reading(ago=LEASE_SECONDS + 5))) == 1


def test_a_new_process_waits_before_it_takes_a_lease_that_ends_too_late_for_one_from_before_a_jump(cast: Cast) -> None:
    make_running(cast, lease=HOUR)
    assert taken(ClockWatch()) == 0
    assert taken(watched(reading(ago=LEASE_SECONDS - 5))) == 0
    assert taken(watched(reading(ago=LEASE_SECONDS + 5))) == 1


def test_a_new_process_takes_an_expired_lease_at_once(cast: Cast) -> None:
    make_running(cast, lease=-1)
    assert taken(ClockWatch()) == 1


@pytest.mark.parametrize(("jump", "age"), [(HOUR, 0.0), (DAY, 0.0), (DAY, DAY / 2), (-HOUR, 0.0), (-DAY, 0.0)])
def test_a_jump_expires_no_approval(cast: Cast, monkeypatch: pytest.MonkeyPatch, jump: float, age: float) -> None:
    ask(cast, ago=age + jump, status=ToolCall.Status.AWAITING_APPROVAL)
    monkeypatch.setattr(approval_expiry, "clock_watch", watched(reading(ago=60, ahead=-jump), reading(ago=1)))
    assert expire_approvals() == 0


def test_an_approval_of_more_than_a_day_expires_after_a_jump_too(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(cast, ago=DAY + HOUR + 60, status=ToolCall.Status.AWAITING_APPROVAL)
    monkeypatch.setattr(approval_expiry, "clock_watch", watched(reading(ago=60, ahead=-HOUR), reading(ago=1)))
    assert expire_approvals() == 1


@pytest.mark.parametrize("behind", [HOUR, DAY])
def test_an_approval_that_a_host_with_an_older_time_asks_for_is_of_now(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, behind: float
) -> None:
    run = make_run(make_conversation(cast.alice, cast.support), status=Run.Status.RUNNING, lease_owner="me")
    asked = ToolOutcome(Call("c", "pay", "{}"), "awaiting_approval", "")
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() - timedelta(seconds=behind))
    record_outcomes(key=key_of(run, "me"), rows={}, outcomes=[asked])
    monkeypatch.undo()
    for row in ToolCall.objects.all():
        assert abs((row.started_at - database_time()).total_seconds()) < 30, row.call_id


def ask(cast: Cast, *, ago: float, status: str) -> None:
    run = make_run(make_conversation(cast.alice, cast.support), status=Run.Status.WAITING)
    ToolCall.objects.create(tenant=cast.acme, run=run, call_id="c", name="pay", status=status)
    ToolCall.objects.update(started_at=DatabaseTime(-ago))


@pytest.mark.parametrize("seconds", [20.0, -20.0, HOUR, DAY, -HOUR, -DAY])
@pytest.mark.django_db(transaction=True)
async def test_a_host_with_another_time_ends_no_run_and_says_so(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, seconds: float
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once", gate, " more"])
    shifted = {
        "DJANGO_SETTINGS_MODULE": "tests.settings_shifted", "SHIFT": str(seconds), "ASSISTANT_METRICS_TOKEN": TOKEN,
    }  # fmt: skip
    with serve() as here, serve(env=shifted) as there:
        async with open_socket(here.url, user=cast.alice) as socket:
            started = await socket.start("Tell me")
            await socket.until_type("TEXT_MESSAGE_CONTENT")
            looked = difference(there.url)[1]
            await until(lambda: difference(there.url)[1] > looked + 1, 30)
            gate.release()
            assert (await socket.until_end())[-1]["type"] == "RUN_FINISHED"
        async with open_socket(there.url, user=cast.alice) as socket:
            assert (await socket.ask("And now?", thread=started["threadId"]))[-1]["type"] == "RUN_FINISHED"
        assert difference(there.url)[0] == pytest.approx(seconds, abs=1.5)
        assert "s from the database's" in there.log and "s from the database's" not in here.log
        assert clock_of(there.url) == {"status": "differs", "seconds_ahead_of_database": pytest.approx(seconds, abs=1)}
        assert clock_of(here.url)["status"] == "ok"
    assert not await Run.objects.filter(~Q(status=Run.Status.FINISHED)).aexists()


def clock_of(url: str) -> dict[str, object]:
    with urllib.request.urlopen(f"{url}/readyz") as answer:
        clock: dict[str, object] = json.load(answer)["clock"]
        return clock


def difference(url: str) -> tuple[float, float]:
    """The host's difference and how often the server has looked, from its metrics."""
    request = urllib.request.Request(f"{url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    values = dict(re.findall(r"^(assistant_clock_\w+) (\S+)$", text, re.MULTILINE))
    return float(values["assistant_clock_difference_seconds"]), float(values["assistant_clock_readings"])
