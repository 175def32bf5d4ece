"""Fixtures of the services' tests."""

from __future__ import annotations

import inspect

import pytest

from assistant.services.eventlog.log import ThreadLog
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast


@pytest.fixture
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes by hand is no run as its readers see it: it is kept from the recordings (RECORD_RUNS)."""
    monkeypatch.setattr(ThreadLog, "append", inspect.unwrap(ThreadLog.append))


@pytest.fixture
def alice_member(cast: Cast) -> Member:
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    return member
