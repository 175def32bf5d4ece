"""Charts: an axis in the page's language, a value for each day on hover and focus, and the period before."""

from __future__ import annotations

import re

import pytest
from django.utils.translation import override

from assistant.contrib.panel.admin.base.charts import Point, bar_chart, line_chart


@pytest.mark.parametrize(
    ("values", "language", "highest"),
    [
        ([], "en", "1"),
        ([0, 0], "en", "1"),
        ([3, 56], "de", "100"),
        ([0.311708], "de", "0,500"),
        ([12_345_678], "en", "20,000,000"),
        ([1234.5], "de", "2.000"),
    ],
)
def test_the_axis_ends_at_a_round_number_in_the_pages_language(
    values: list[float], language: str, highest: str
) -> None:
    with override(language):
        chart = bar_chart([Point("", value, None, "") for value in values], name="Days")
    numbers = re.findall(r'text-anchor="end">([^<]*)<', chart)
    assert len(numbers) == 5 and numbers[-1] == highest


@pytest.mark.parametrize("draw", [bar_chart, line_chart])
def test_each_day_says_its_value_and_that_of_the_period_before(draw: object) -> None:
    points = [Point("May 1", 3, 2, "May 1: 3 runs", "April 1: 2 runs"), Point("May 2", 4, None, "May 2: 4 runs")]
    chart = draw(points, name="Runs")  # type: ignore[operator]  # either of the two
    assert chart.count('tabindex="0"') == 2
    assert 'aria-label="May 1: 3 runs. April 1: 2 runs"' in chart and "May 1: 3 runs · April 1: 2 runs" in chart
    assert "chart-earlier" in chart and "style=" not in chart and "<script" not in chart


def test_a_bar_marks_a_part() -> None:
    chart = bar_chart([Point("", 4, None, "", marked=1)], name="Runs")
    heights = [float(one) for one in re.findall(r'class="chart-(?:bar|marked)"[^>]*height="([^"]+)"', chart)]
    assert len(heights) == 2 and heights[0] == pytest.approx(4 * heights[1], rel=0.01)
