"""Charts: the highest value is written as the page's language writes numbers."""

from __future__ import annotations

import re

import pytest
from django.utils.translation import override

from assistant.contrib.panel.admin.base.charts import Bar, bar_chart


@pytest.mark.parametrize(
    ("values", "language", "shown"),
    [
        ([], "en", "0"),
        ([0, 0], "en", "0"),
        ([3, 56], "de", "56"),
        ([0.311708], "de", "0,31"),
        ([0.000042], "en", "0.000042"),
        ([12_345_678], "en", "12,345,678"),
        ([1234.5], "de", "1.234,50"),
    ],
)
def test_the_highest_value_is_written_in_the_pages_language(values: list[float], language: str, shown: str) -> None:
    with override(language):
        chart = bar_chart([Bar("", value, 0, "") for value in values], name="Days")
    assert re.findall(r'class="chart-most"[^>]*>([^<]*)<', chart) == [shown]
