"""Which processes tell of their runs: all where the log is shared, else the one that somebody follows what waits in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.contrib.inbox.services.notices import RunWatch, run_changed
from assistant.services.eventlog import configured
from assistant.services.runs.run_watchers import watchers


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    known = list(watchers)
    watchers.clear()
    yield
    watchers[:] = known


@pytest.mark.parametrize("is_shared", [True, False])
def test_runs_are_watched_from_the_start_where_others_may_follow_them(
    monkeypatch: pytest.MonkeyPatch, is_shared: bool
) -> None:
    monkeypatch.setattr(configured, "_shared", [(lambda: is_shared, configured.configured_log)])
    for _ in range(2):
        RunWatch().start()
    assert watchers == ([run_changed] if is_shared else [])
