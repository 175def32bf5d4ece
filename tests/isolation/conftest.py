"""The fixture `world`: the tenants and rows of the isolation tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from assistant.toolkit.guards.internal_hosts import parse_internal_host
from tests.base import Cast
from tests.isolation.world import World, open_world


@pytest.fixture
def world(cast: Cast, settings: Any) -> Iterator[World]:
    settings.ASSISTANT_INTERNAL_HOSTS = (parse_internal_host("127.0.0.1"),)
    with open_world(cast) as opened:
        yield opened
