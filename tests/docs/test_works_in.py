"""README says where the assistant was seen to work: what `make hosts` has written down, and nothing else."""

from __future__ import annotations

import json

from tests.host_matrix import record
from tests.host_matrix.hosts import HOSTS


def test_the_table_is_what_the_runs_have_written_down() -> None:
    assert f"\n{record.table()}\n" in record.DOCUMENT.read_text()


def test_each_row_is_of_a_host_that_can_be_tried_again() -> None:
    found = json.loads(record.RECORD.read_text())
    assert set(found) <= set(HOSTS)
    assert all(row["requests"] > 500 and row["pages"] > 100 for row in found.values())
