"""Sign-in with a second factor is on in these tests, as `ASSISTANT_SECOND_FACTOR=optional` has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

import config.urls  # noqa: F401 - reads ASSISTANT_SECOND_FACTOR while it is imported: without it, as by default


@pytest.fixture(autouse=True)
def second_factor(settings: Any) -> Iterator[Any]:
    """Return the settings, in which a test may ask for more."""
    settings.ASSISTANT_SECOND_FACTOR = "optional"
    settings.ROOT_URLCONF = "tests.contrib.sign_in.accounts.urls"
    # So long that no code ends between its calculation and its use.
    settings.MFA_TOTP_PERIOD = 3600
    cache.clear()
    yield settings
    cache.clear()
