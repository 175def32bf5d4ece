"""No way through the core grows: how many files and functions its requests enter is a budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ways.figures import CORE
from tests.ways.walking import grown, table, walked

# The walks run in a process of their own, with a database of their own.
pytestmark = [pytest.mark.once, pytest.mark.slow]


def test_no_way_grows(tmp_path: Path) -> None:
    reports = walked("walks.py", tmp_path)
    print(table(reports))
    assert not grown(CORE, reports)
