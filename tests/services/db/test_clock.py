"""The database's clock is compared with the host's, and with how much time has really passed."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from assistant.models import Run
from assistant.services.db.clock import ClockWatch, DatabaseTime, Reading, database_time, read_clock
from tests.base import Cast
from tests.factories import make_conversation, make_run

HOUR, DAY = 3600.0, 86400.0
JUMPS = (HOUR, DAY, -HOUR, -DAY)


def reading(*, ago: float, ahead: float = 0.0, host: float = 0.0, took: float = 0.01) -> Reading:
    """A reading so many seconds ago, with a database and a host that are so many seconds ahead of the real time."""
    at, steady = datetime.now(UTC) - timedelta(seconds=ago), time.monotonic() - ago
    hosts = at + timedelta(seconds=host)
    return Reading(
        at + timedelta(seconds=ahead), (hosts - timedelta(seconds=took), hosts + timedelta(seconds=took)),
        (steady - took, steady + took),
    )  # fmt: skip


def watched(*readings: Reading) -> ClockWatch:
    watch = ClockWatch()
    for one in readings:
        watch.observe(one)
    return watch


@pytest.mark.parametrize("jump", JUMPS)
def test_a_jump_is_found_and_logged(jump: float, caplog: pytest.LogCaptureFixture) -> None:
    watch = watched(reading(ago=60), reading(ago=30, ahead=jump), reading(ago=10, ahead=jump))
    assert watch.jumps == 1
    assert watch.seconds_since_jump() == pytest.approx(30, abs=5)
    assert f"jumped by {jump:+.1f} s" in caplog.text


def test_a_slow_answer_of_the_database_is_neither_a_jump_nor_a_difference() -> None:
    watch = watched(reading(ago=60), reading(ago=30, ahead=8, took=10), reading(ago=10))
    assert (watch.jumps, watch.difference) == (0, 0.0)


def test_what_began_before_jumps_is_younger_by_all_of_them() -> None:
    there_and_back = watched(reading(ago=60), reading(ago=50, ahead=DAY), reading(ago=40))
    assert there_and_back.jumped_forward(HOUR) == pytest.approx(0, abs=1)
    twice = watched(reading(ago=60), reading(ago=50, ahead=HOUR), reading(ago=40, ahead=2 * HOUR))
    assert twice.jumped_forward(HOUR) == pytest.approx(2 * HOUR, abs=1)
    assert twice.jumped_forward(45) == pytest.approx(HOUR, abs=1)
    assert watched(reading(ago=60), reading(ago=50, ahead=-DAY)).jumped_forward(HOUR) == 0


@pytest.mark.parametrize("host", [20.0, -20.0])
def test_a_host_that_differs_is_told_once(host: float, caplog: pytest.LogCaptureFixture) -> None:
    watch = watched(reading(ago=60, host=host), reading(ago=30, host=host))
    assert watch.difference == pytest.approx(host, abs=1)
    assert caplog.text.count(f"{'+' if host > 0 else '-'}20.0 s from the database's") == 1
    assert "from the database's" not in "".join(record.message for record in caplog.records[1:])


def test_a_host_within_two_seconds_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    watched(reading(ago=60, host=1.9))
    assert caplog.text == ""


def test_the_time_of_the_database_is_that_of_the_statement(db: None) -> None:
    first = read_clock(database_time)
    time.sleep(0.002)
    second = read_clock(database_time)
    assert first.database < second.database
    assert abs(first.difference) < 1


@pytest.mark.parametrize("offset", [0.0, 15.0, -DAY])
def test_the_expression_is_the_database_s_time_with_its_offset(cast: Cast, offset: float) -> None:
    run = make_run(make_conversation(cast.alice, cast.support))
    Run.objects.filter(pk=run.pk).update(lease_until=DatabaseTime(offset))
    run.refresh_from_db()
    assert run.lease_until is not None
    assert (run.lease_until - database_time()).total_seconds() == pytest.approx(offset, abs=5)
