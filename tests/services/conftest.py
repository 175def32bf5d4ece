"""Fixtures of the services' tests."""

from __future__ import annotations

import inspect

import pytest

from assistant.services.eventlog import ThreadLog


@pytest.fixture
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes by hand is no run as its readers see it: it is kept from the recordings (RECORD_RUNS)."""
    monkeypatch.setattr(ThreadLog, "append", inspect.unwrap(ThreadLog.append))
