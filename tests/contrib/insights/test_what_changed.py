"""What changed before a step: the change that spoiled an assistant is named, and nothing where chance explains it."""

from __future__ import annotations

from datetime import UTC, date, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.insights.services.day_sums import empty_sums
from assistant.contrib.insights.services.fits import fitting_days
from assistant.contrib.insights.services.measures import BY_SLUG, DISLIKED
from assistant.contrib.insights.services.reports import DayOfSums
from assistant.models import AuditEntry
from tests.base import Cast
from tests.contrib.insights.rows import day_sum

pytestmark = pytest.mark.django_db
FIRST = date(2026, 3, 1)


def days(*counts: tuple[int, int]) -> list[DayOfSums]:
    """Return days with so many runs and thumbs down."""
    sums = [{**empty_sums(), "runs": runs, "thumbs_down": down} for runs, down in counts]
    return [DayOfSums(FIRST + timedelta(days=place), one, empty_sums()) for place, one in enumerate(sums)]


def after(number: int) -> date:
    return FIRST + timedelta(days=number)


def test_the_day_of_the_step_fits_best() -> None:
    step = days(*[(20, 1)] * 10, *[(20, 8)] * 5)
    fits = fitting_days(step, {after(3), after(9), after(10), after(12)}, DISLIKED)
    assert (fits[0].day, fits[0].before, fits[0].since) == (after(10), 5.0, 40.0)
    assert [one.deviations for one in fits] == sorted((one.deviations for one in fits), reverse=True)


@pytest.mark.parametrize(
    "counts",
    [[(20, 1)] * 15, [(20, 8)] * 8 + [(20, 1)] * 7, [(20, 1)] * 14 + [(5, 4)], [(0, 0)] * 15],
    ids=["even", "better", "few runs", "nothing"],
)
def test_nothing_fits_where_nothing_became_worse(counts: list[tuple[int, int]]) -> None:
    assert fitting_days(days(*counts), {after(8), after(14)}, DISLIKED) == []


def test_measures_that_are_no_worse_when_higher_have_no_fits() -> None:
    assert fitting_days(days(*[(20, 1)] * 10, *[(20, 8)] * 5), {after(10)}, BY_SLUG["runs"]) == []


def test_the_planted_prompt_is_named_with_the_way_back(cast: Cast, amys: Client) -> None:
    today = timezone.now().astimezone(UTC).date()
    for number in range(30):
        day_sum(cast, today - timedelta(days=number), runs=20, thumbs_down=8 if number < 4 else 1)
    for ago, action, target in ((3, "prompt.publish", "support v2"), (20, "tool.switch", "refund")):
        entry = AuditEntry.objects.create(tenant=cast.acme, actor=cast.amy, action=action, target=target)
        AuditEntry.objects.filter(pk=entry.pk).update(created_at=timezone.now() - timedelta(days=ago))
    page = amys.get("/admin/assistant_insights/daysum/", {"assistant": cast.support.pk})
    fit = page.context["fits"][0]
    ((change, links),) = fit["changes"]
    assert (change["target"], fit["before"], fit["since"]) == ("support v2", "5.0 %", "40.0 %")
    assert [link.name for link in links] == ["Roll back", "Compare"]
    assert all(amys.get(link.url).status_code == 200 for link in links)
    assert "rating=down" in page.context["shown_by"]
    assert amys.get(page.context["shown_by"]).status_code == 200


def test_another_tenants_changes_fit_nothing_here(cast: Cast, amys: Client) -> None:
    today = timezone.now().astimezone(UTC).date()
    for number in range(30):
        day_sum(cast, today - timedelta(days=number), runs=20, thumbs_down=8 if number < 4 else 1)
    entry = AuditEntry.objects.create(tenant=cast.globex, actor=cast.root, action="prompt.publish", target="support v2")
    AuditEntry.objects.filter(pk=entry.pk).update(created_at=timezone.now() - timedelta(days=3))
    assert amys.get("/admin/assistant_insights/daysum/").context["fits"] == []
