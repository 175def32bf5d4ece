"""Fixtures of the API's tests."""

from __future__ import annotations

import pytest

from tests.api.calling import Caller
from tests.base import Cast


@pytest.fixture
def alice_calls(cast: Cast) -> Caller:
    return Caller(cast.acme, cast.alice)


@pytest.fixture
def amy_calls(cast: Cast) -> Caller:
    return Caller(cast.acme, cast.amy)


@pytest.fixture
def mallory_calls(cast: Cast) -> Caller:
    return Caller(cast.globex, cast.mallory)
