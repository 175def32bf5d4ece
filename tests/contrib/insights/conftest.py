"""Fixtures: browsers in which people are signed in."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.base import Cast
from tests.contrib.panel.conftest import signed_in


@pytest.fixture
def root(cast: Cast) -> Client:
    """A browser in which the superuser is signed in."""
    return signed_in(cast.root)


@pytest.fixture
def amys(cast: Cast) -> Client:
    """A browser in which Acme's admin is signed in."""
    return signed_in(cast.amy)
