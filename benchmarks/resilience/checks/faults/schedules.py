"""Many schedules are due within a minute over three server processes, one of which is killed meanwhile."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.sites import POSTGRES, Database
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider

TITLE = "Schedules"
HOW = (
    "500 schedules are due within one minute on three server processes (PostgreSQL, Redis), each with an answer of two "
    "seconds. One process is killed (SIGKILL) in the middle. Then the rows of the database are counted, until each "
    "moment has ended."
)
SCHEDULES = 500
MISSING, DOUBLED, SILENT, EVENTS, CUT, LATE = (
    "schedules without exactly one row for their moment",
    "moments without exactly one run",
    "moments that have not ended, or failed without a reason",
    "events missing or doubled",
    "moments that failed with the killed process, and say so",
    "latest row after its moment",
)
# Seconds until the first schedule is due, for which the processes start, and those within which all are due.
LEAD_SECONDS, MINUTE = 20.0, 60.0
# A job of a dead process is taken over after a minute, and its run is found dead within half of one.
PATIENCE_SECONDS = 240.0
SHORTEST_SECONDS, LONGEST_SECONDS = 2.0, 12.0
ANSWER = ("Two ", "orders ", "are ", "open.")


def ask_anywhere() -> None:
    """A question is asked in a new conversation each time that its job is done."""
    from assistant.contrib.timed.services.schedules import firing

    asked_as: Any = vars(firing)["RunInput"]
    vars(firing)["RunInput"] = lambda _thread, *args, **given: asked_as(uuid.uuid4(), *args, **given)


def hold_for_ever() -> None:
    """The job of a question is held for a day, also by a process that has died."""
    from assistant.contrib.timed.services.schedules import firing

    firing.LEASE = timedelta(days=1)


FAULTS = (
    Fault("a question is asked in another conversation by each process", DOUBLED, ask_anywhere),
    Fault("a dead process holds its questions for a day", SILENT, hold_for_ever),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    count = testbed.scaled(SCHEDULES, 60)
    with FakeProvider() as provider, testbed.site(POSTGRES, provider.url) as site, ExitStack() as stack:
        # Fewer schedules have longer answers, so that each process is always at work on some when one is killed.
        seconds = min(LONGEST_SECONDS, SHORTEST_SECONDS * SCHEDULES / count)
        provider.rule(reply(chunks=list(ANSWER), delay=seconds / len(ANSWER)))
        servers = [stack.enter_context(testbed.serve(site)) for _ in range(3)]
        start = datetime.now(UTC) + timedelta(seconds=LEAD_SECONDS)
        _store(site.database, count, start)
        _sleep_until(start + timedelta(seconds=MINUTE / 2))
        servers[0].kill()
        _sleep_until(start + timedelta(seconds=MINUTE))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while _number(site.database, _OPEN) and time.monotonic() < deadline:
            time.sleep(1.0)
        found = {what: _number(site.database, query) for what, query in _FIGURES.items()}
        ((late,),) = site.database.rows(
            "SELECT max(extract(epoch FROM created_at - due_at)) FROM assistant_timed_schedulerun"
        )
    return [
        *(Line(what, found[what], "", 0, beside=f"of {count}") for what in (MISSING, DOUBLED, SILENT, EVENTS)),
        Line(CUT, found[CUT], ""),
        Line(LATE, float(late or 0), "s"),
    ]


_OPEN = (
    "SELECT count(*) FROM assistant_timed_schedule s LEFT JOIN assistant_timed_schedulerun r ON r.schedule_id = s.id "
    "WHERE r.id IS NULL OR r.state = 'running'"
)
_FIGURES = {
    MISSING: (
        "SELECT count(*) FROM (SELECT s.id FROM assistant_timed_schedule s LEFT JOIN assistant_timed_schedulerun r "
        'ON r.schedule_id = s.id AND r.due_at = s."at" GROUP BY s.id HAVING count(r.id) <> 1) wrong'
    ),
    DOUBLED: (
        "SELECT count(*) FROM (SELECT r.id FROM assistant_timed_schedulerun r LEFT JOIN assistant_run run "
        "ON run.run_id = r.run_id GROUP BY r.id HAVING count(run.id) <> 1) wrong"
    ),
    SILENT: (
        "SELECT count(*) FROM assistant_timed_schedulerun "
        "WHERE state = 'running' OR (state = 'failed' AND problem = '')"
    ),
    EVENTS: (
        "SELECT abs(count(DISTINCT message_id) - (SELECT count(*) FROM assistant_timed_schedule)) + count(*)"
        " - count(DISTINCT message_id) FROM assistant_webhooks_webhookdelivery WHERE event = 'schedule.finished'"
    ),
    CUT: "SELECT count(*) FROM assistant_timed_schedulerun WHERE state = 'failed' AND problem <> ''",
}


def _store(database: Database, count: int, start: datetime) -> None:
    """Store schedules of the members in turn, the jobs that have them asked, and a webhook."""
    ((tenant, assistant),) = database.rows(
        "SELECT a.tenant_id, a.id FROM assistant_assistant a WHERE a.slug = 'support' ORDER BY a.id LIMIT 1"
    )
    members = [row[0] for row in database.rows("SELECT user_id FROM assistant_membership WHERE tenant_id = %s", tenant)]
    now = datetime.now(UTC)
    for number in range(count):
        due_at, user = start + timedelta(seconds=MINUTE * number / count), members[number % len(members)]
        ((pk,),) = _insert(
            database,
            "assistant_timed_schedule",
            {
                "tenant_id": tenant, "user_id": user, "assistant_id": assistant, "name": f"Schedule {number}",
                "prompt": "Which orders are open?", "cron": "", "at": due_at, "timezone": "UTC", "next_at": due_at,
                "delivery": "webhook", "created_at": now,
            },
        )  # fmt: skip
        _insert(
            database,
            "assistant_job",
            {
                "tenant_id": tenant, "name": "schedule.due", "key": str(pk), "due_at": due_at, "state": "waiting",
                "attempts": 0, "problem": "", "created_at": now,
            },
        )  # fmt: skip
    _insert(
        database,
        "assistant_webhooks_webhook",
        {
            "tenant_id": tenant, "name": "CRM", "url": "https://crm.example/in", "events": '["schedule.finished"]',
            "is_active": True, "secret": "", "previous_secret": "", "created_at": now,
        },
    )  # fmt: skip


def _insert(database: Database, table: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    columns, places = ", ".join(f'"{name}"' for name in values), ", ".join(["%s"] * len(values))
    return database.rows(f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING id", *values.values())


def _number(database: Database, query: str) -> int:
    ((found,),) = database.rows(query)
    return int(found)


def _sleep_until(moment: datetime) -> None:
    time.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()))
