"""What is counted, without the app that shows it, and a database that no server works on beside a test."""

from __future__ import annotations

from collections import Counter

import pytest

from assistant.services import metrics
from tests.live import shared

SERVERS = {"server", "uvicorn_server"}


class Recorder(metrics.Metrics):
    """Keeps outcomes and reasons."""

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()

    def count_file(self, outcome: str) -> None:
        self.told[outcome] += 1

    def count_unstored_run(self, reason: str) -> None:
        self.told[reason] += 1


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each outcome was counted in this test."""
    recorder = Recorder()
    monkeypatch.setattr(metrics, "counting", lambda: recorder)
    return recorder.told


@pytest.fixture(autouse=True)
def _alone(request: pytest.FixtureRequest) -> None:
    """End the server that other tests left: it would do the jobs and go on with the dead runs that a test commits."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and marker.kwargs.get("transaction") and not SERVERS & set(request.fixturenames):
        shared.stop_unless_lent()
