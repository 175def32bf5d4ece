"""Questions are scheduled, listed and deleted by the member they belong to, who is asked before one is made."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.utils.formats import date_format
from django.utils.translation import override

from assistant.contrib.timed.library.schedules import delete_scheduled_question, list_schedules, schedule_question
from assistant.contrib.timed.models import Schedule
from assistant.models import Membership, Tenant
from assistant.toolkit import ToolContext, ToolError
from tests.base import Cast
from tests.factories import make_member
from tests.library.calling import call, context_of


def at(tenant: Tenant, user: User, key: str = "") -> ToolContext:
    return context_of(tenant, user, assistant="support", idempotency_key=key)


def ask(context: ToolContext, when: str = "0 9 * * 1", **fields: Any) -> Any:
    until = f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%dT%H:%M}"
    values = {"name": "Open orders", "question": "Which orders are open?", "until": until, "budget": 5, **fields}
    return call(schedule_question, context, when=when, **values)


def test_it_asks_first() -> None:
    assert schedule_question.requires_approval and not schedule_question.read_only


def test_a_cron_line_asks_again_and_again_in_the_tenants_time_zone(cast: Cast) -> None:
    alice = at(cast.acme, cast.alice, "call 1")
    first = ask(alice)
    assert first == ask(alice)  # the same call again
    assert first["next"].startswith("Monday") and first["next"].endswith("09:00")
    row = Schedule.objects.get()
    assert (row.user, row.budget, row.timezone, row.assistant) == (cast.alice, 5_000_000, "Europe/Vienna", cast.support)


def test_a_moment_asks_once(cast: Cast) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    ask(at(cast.acme, cast.alice), when=f"{tomorrow:%Y-%m-%dT%H:%M}", until="", budget=None)
    row = Schedule.objects.get()
    assert row.cron == "" and row.at is not None and row.ends_at is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"budget": None}, "budget"),
        ({"when": "* * * * *"}, "15 minutes"),
        ({"when": "noon"}, "no date"),
        ({"until": "soon"}, "not a time"),
    ],
)
def test_what_is_wrong_is_told_to_the_model_before_anyone_is_asked(
    cast: Cast, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        ask(at(cast.acme, cast.alice), **wrong)
    with pytest.raises(ToolError, match=said):
        preview(cast, **wrong)


def preview(cast: Cast, **fields: Any) -> dict[str, Any]:
    """Return what the person who approves is shown, by its label."""
    until = f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%d}"
    values = {"name": "Open orders", "question": "Which?", "when": "0 9 * * 1", "until": until, "budget": 5}
    assert schedule_question.preview is not None
    return {one.label: one.new for one in schedule_question.preview(values | fields, at(cast.acme, cast.alice))}


def test_who_approves_sees_the_first_moment(cast: Cast) -> None:
    end = datetime.now(UTC).date() + timedelta(days=60)
    shown = preview(cast, until=end.isoformat())
    first = shown.pop("Next")
    assert first.startswith("Monday, ") and first.endswith(", 9 a.m.")
    assert shown == {
        "Question": "Which?",
        "Cron line": "0 9 * * 1 (Europe/Vienna)",
        "End": f"{end:%A}, {date_format(end)}, 11:59 p.m.",
        "Budget": "5",
        "Delivery": "A conversation",
    }
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    with override("de"):
        shown = preview(cast, when=f"{tomorrow}T10:00", delivery="email")
        day = date_format(tomorrow, "l, j. F Y")
    assert shown["Zeitpunkt"] == f"{day} 10:00"
    assert "Cron" not in " ".join(shown)
    assert not Schedule.objects.exists()


def test_a_date_alone_is_the_end_of_that_day(cast: Cast) -> None:
    day = datetime.now(UTC).date() + timedelta(days=30)
    ask(at(cast.acme, cast.alice), until=day.isoformat())
    ends_at = Schedule.objects.get().ends_at
    assert ends_at is not None
    assert f"{ends_at.astimezone(ZoneInfo('Europe/Vienna')):%Y-%m-%d %H:%M}" == f"{day} 23:59"


def test_a_member_lists_and_deletes_their_own_alone(cast: Cast) -> None:
    pk = ask(at(cast.acme, cast.alice))["schedule_id"]
    for tenant, user in ((cast.acme, cast.amy), (cast.globex, cast.mallory)):
        assert call(list_schedules, at(tenant, user)) == []
        with pytest.raises(ToolError, match="no schedule"):
            call(delete_scheduled_question, at(tenant, user), schedule_id=pk)
    assert [one["schedule_id"] for one in call(list_schedules, at(cast.acme, cast.alice))] == [pk]
    delete_scheduled_question(schedule_id=pk, context=at(cast.acme, cast.alice))
    assert not Schedule.objects.exists()


def test_an_end_user_schedules_nothing(cast: Cast) -> None:
    visitor = make_member(cast.acme, "visitor", role=Membership.Role.END_USER)
    with pytest.raises(ToolError, match="members"):
        ask(at(cast.acme, visitor))


def test_what_the_model_had_read_marks_the_question(cast: Cast) -> None:
    marked: list[tuple[str, ...]] = []
    reading = replace(at(cast.acme, cast.alice), read_sources=("mail.eml",), untrusted=marked.append)
    ask(reading)
    assert Schedule.objects.get().sources == ["mail.eml"] and marked == [("mail.eml",)]
    later = replace(at(cast.acme, cast.alice), untrusted=marked.append)
    call(list_schedules, later)
    assert marked == [("mail.eml",)] * 2
