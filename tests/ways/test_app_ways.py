"""No way that needs optional apps grows (`assistant.contrib`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ways.figures import WITH_APPS
from tests.ways.walking import grown, table, walked

pytestmark = [pytest.mark.once, pytest.mark.slow]


def test_no_way_grows(tmp_path: Path) -> None:
    reports = walked("app_walks.py", tmp_path, apps="rest")
    print(table(reports))
    assert not grown(WITH_APPS, reports)
