"""Fixtures of external servers' questions: the server that asks, and the site that is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.live import Server, serve
from tests.mcp.outside import Outside, outside


@pytest.fixture(scope="session")
def asking_process() -> Iterator[Outside]:
    with outside(app="tests.mcp.questions.asking_app:app") as server:
        yield server


@pytest.fixture(params=["newest", "with sessions"])
def asking(request: pytest.FixtureRequest, asking_process: Outside, settings: Settings) -> Outside:
    """The external server that asks people, in each protocol in turn."""
    settings.DEBUG = True  # it is on the machine itself
    asking_process.be(is_older=request.param != "newest")
    return asking_process


@pytest.fixture(scope="module")
def site(django_db_setup: None) -> Iterator[Server]:
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_debug"}) as server:
        yield server
