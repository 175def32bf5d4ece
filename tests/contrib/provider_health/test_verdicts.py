"""Whose failures they are, by the runs of the last minutes; and outages by the hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.provider_health.services.answers import (
    RECENT,
    Answers,
    AskedModel,
    answers_by_hour,
    recent_answers,
    seconds_of,
)
from assistant.contrib.provider_health.services.failing import last_read, read_failing
from assistant.contrib.provider_health.services.outages import outages
from assistant.contrib.provider_health.services.verdicts import verdicts
from tests.base import Cast
from tests.contrib.provider_health.rows import FAILED, OURS, TAKEN_OVER, make_runs
from tests.factories import make_assistant, make_provider

pytestmark = pytest.mark.django_db

SHARED = AskedModel(None, "Shared", "m-1")
LATELY = timedelta(minutes=5)


def causes() -> list[tuple[str, AskedModel | None]]:
    return [(one.cause, one.asked) for one in verdicts(recent_answers(timezone.now()))]


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        (FAILED, "provider"),
        (FAILED | {"error_code": "provider_timeout"}, "provider"),
        (FAILED | {"error_code": "provider_quota"}, "account"),
        (FAILED | {"error_code": "provider_rate_limited"}, "limits"),
        (TAKEN_OVER, "provider"),
    ],
    ids=["error", "timeout", "no credit", "too many requests", "another model answered"],
)
def test_a_model_that_answers_nobody_is_the_providers_matter(cast: Cast, fields: dict[str, Any], cause: str) -> None:
    at = timezone.now() - LATELY
    make_runs(cast.support, 5, at=at, user=cast.alice, **fields)
    make_runs(cast.support, 4, at=at, user=cast.alice)
    assert causes() == [(cause, SHARED)]


def test_errors_of_this_deployment_are_ours(cast: Cast) -> None:
    at = timezone.now() - LATELY
    make_runs(cast.support, 3, at=at, user=cast.alice, **OURS)
    make_runs(cast.support, 3, at=at, user=cast.alice, **{**OURS, "model": "m-2"})
    assert causes() == [("us", None)]


def test_one_assistant_that_a_model_does_not_answer_while_it_answers_others_is_named(cast: Cast) -> None:
    at = timezone.now() - LATELY
    make_runs(cast.support, 6, at=at, user=cast.alice, **FAILED)
    make_runs(make_assistant(cast.acme), 5, at=at, user=cast.alice)
    (verdict,) = verdicts(recent_answers(timezone.now()))
    assert (verdict.cause, verdict.assistant_id) == ("assistant", cast.support.pk)


@pytest.mark.parametrize(
    ("failed", "answered", "age"),
    [(4, 0, LATELY), (5, 6, LATELY), (20, 0, RECENT + LATELY)],
    ids=["few", "a smaller part", "long ago"],
)
def test_what_may_be_chance_or_is_over_is_not_named(cast: Cast, failed: int, answered: int, age: timedelta) -> None:
    make_runs(cast.support, failed, at=timezone.now() - age, user=cast.alice, **FAILED)
    make_runs(cast.support, answered, at=timezone.now() - age, user=cast.alice)
    assert causes() == []


def test_tests_and_other_endings_do_not_count(cast: Cast) -> None:
    at = timezone.now() - LATELY
    make_runs(cast.support, 9, at=at, user=cast.alice, is_test=True, **FAILED)
    make_runs(cast.support, 9, at=at, user=cast.alice, **FAILED | {"error_code": "limit_reached"})
    assert causes() == []


def test_a_tenants_own_provider_is_not_the_deployments_of_the_same_name(cast: Cast) -> None:
    at = timezone.now() - LATELY
    make_provider(cast.globex, base_url="http://127.0.0.1:1", name="Shared")
    make_runs(make_assistant(cast.globex), 6, at=at, user=cast.mallory, **FAILED)
    make_runs(cast.support, 6, at=at, user=cast.alice)
    assert causes() == [("provider", AskedModel(cast.globex.pk, "Shared", "m-1"))]


def test_people_who_get_another_models_answers_are_not_told(cast: Cast) -> None:
    at = timezone.now() - LATELY
    make_runs(cast.support, 9, at=at, user=cast.alice, **TAKEN_OVER)
    assert read_failing() == frozenset()
    make_runs(cast.support, 9, at=at, user=cast.alice, **FAILED)
    assert read_failing() == {SHARED} == last_read()


def test_hours_with_many_failures_on_end_are_one_outage() -> None:
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    bad = Answers(20, 6, 1)
    by_hour = {
        noon + timedelta(hours=hour): {SHARED: bad if hour in (1, 2, 5) else Answers(20, 1)} for hour in range(7)
    }
    newer, older = outages(by_hour)
    assert (newer.since.hour, newer.until.hour, newer.answers) == (17, 18, bad)
    assert (older.since.hour, older.until.hour, older.answers) == (13, 15, Answers(40, 12, 2))


def test_hours_and_seconds_are_of_the_runs(cast: Cast) -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    make_runs(cast.support, 2, at=hour, user=cast.alice)
    make_runs(cast.support, 1, at=hour, user=cast.alice, **FAILED)
    make_runs(cast.support, 1, at=hour - timedelta(hours=1), user=cast.alice, **TAKEN_OVER)
    since = hour - timedelta(hours=3)
    assert answers_by_hour(since) == {
        hour: {SHARED: Answers(3, 1)},
        hour - timedelta(hours=1): {SHARED: Answers(1, 0, 1)},
    }
    assert seconds_of(since) == {SHARED: ([0.5, 0.5], [0.0, 0.0])}
