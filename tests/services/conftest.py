"""What is counted, without the app that shows it."""

from __future__ import annotations

from collections import Counter

import pytest

from assistant.services import metrics


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
