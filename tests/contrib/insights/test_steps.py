"""Steps of shares are found on their day, and told from slopes, from what is over and from chance."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.contrib.insights.services.languages import language_of
from assistant.contrib.insights.services.releases import RELEASE, record_release
from assistant.contrib.insights.services.steps import Share, deviations_of, steps_of
from assistant.models import AuditEntry

LEVEL = [Share(1, 20)] * 30


def test_a_step_is_found_on_its_day() -> None:
    (step,) = steps_of([*LEVEL, *[Share(7, 20)] * 15])
    assert (step.place, step.is_over, step.slope) == (30, False, None)
    assert (step.before.part, step.since.part) == (0.05, 0.35)
    assert step.fits[30] == 1.0
    assert step.fits.get(25, 0.0) < 0.5


def test_what_is_over_again_has_an_end() -> None:
    (step,) = steps_of([*LEVEL, *[Share(12, 20)] * 3, *LEVEL])
    assert (step.place, step.is_over) == (30, True)
    assert 33 <= step.end <= 35


def test_two_steps_more_than_four_weeks_apart_are_two() -> None:
    found = steps_of([*LEVEL, *[Share(6, 20)] * 40, *[Share(14, 20)] * 20])
    assert [step.place for step in found] == [30, 70]


def test_a_slope_is_likelier_than_a_step() -> None:
    (step,) = steps_of([*LEVEL, *(Share(1 + day // 3, 20) for day in range(40))])
    assert step.slope is not None
    assert step.slope.gain > 0
    assert 20 <= step.slope.place <= 40


@pytest.mark.parametrize(
    "series",
    [[], LEVEL, [*[Share(8, 20)] * 20, *LEVEL], [*LEVEL, Share(4, 4)], [Share(0, 0)] * 90, [Share(3, 5), *LEVEL]],
    ids=["nothing", "even", "better", "few since", "no runs", "few before"],
)
def test_nothing_is_found_where_nothing_became_worse(series: list[Share]) -> None:
    assert steps_of(series) == []


def test_deviations_are_nothing_where_a_share_is_not_higher() -> None:
    assert deviations_of(Share(1, 20), Share(1, 20)) == 0.0
    assert deviations_of(Share(0, 0), Share(1, 20)) == 0.0
    assert deviations_of(Share(10, 20), Share(1, 20)) > 3


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("When do you open, and where can I park?", "en"),
        ("Wann ist das Geschäft offen, und wo kann ich parken?", "de"),
        ("Où est mon colis et quand arrive-t-il ?", "fr"),
        ("¿Dónde está mi pedido y cuándo llega?", "es"),
        ("Где мой заказ?", "ru"),
        ("Де мій заказ, і коли її привезуть?", "uk"),
        ("注文はどこですか", "ja"),
        ("我的订单在哪里", "zh"),
        ("Gdzie jest moja paczka?", "pl"),
        ("Hur avbokar jag min beställning?", "sv"),
        ("Nasıl iade edebilirim?", "tr"),
        ("Kann ich das noch stornieren?", "de"),
        ("42 4711", ""),
        ("", ""),
    ],
)
def test_languages_are_told_apart(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.django_db
def test_another_release_is_recorded_once(settings: Any) -> None:
    settings.ASSISTANT_RELEASE = "one"
    assert [record_release(), record_release()] == [True, False]
    settings.ASSISTANT_RELEASE = "two"
    assert record_release()
    recorded = AuditEntry.objects.filter(action=RELEASE, tenant=None).order_by("pk")
    assert [entry.target for entry in recorded] == ["one", "two"]
