"""Fixtures of the webhooks' tests: a receiver, and rows that lead to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contrib.panel.conftest import amys, root
from tests.contrib.webhooks.receiver import Receiver

__all__ = ["amys", "root"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


@pytest.fixture
def on_loopback(settings: object) -> None:
    """In development the machine itself may be asked, as the receiver must be."""
    settings.DEBUG = True  # type: ignore[attr-defined]
