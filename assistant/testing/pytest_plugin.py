"""Fixtures for pytest. Name this module in the `pytest_plugins` of your topmost `conftest.py`.

It is not an entry point, which every pytest of an environment would load, also those of other projects, before
coverage and Django's settings are ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from assistant.testing.cassettes import Cassette
from assistant.testing.chat import ChatTester
from assistant.testing.database import share_connections
from assistant.testing.models import answer_with
from assistant.testing.scripted import ScriptedModel


@pytest.fixture
def assistant_db(db: None) -> Iterator[None]:
    """The fixture `db`, with the test's rows in sight of tools and runs."""
    with share_connections():
        yield


@pytest.fixture
def assistant_answers() -> Iterator[Callable[..., ScriptedModel]]:
    """Returns a function: its arguments are the answers in tenants' runs until the test ends."""
    with ExitStack() as held:

        def answer(*turns: Any) -> ScriptedModel:
            model = ScriptedModel(turns)
            held.enter_context(answer_with(model))
            return model

        yield answer


@pytest.fixture
def assistant_chat(assistant_db: None) -> Iterator[Callable[..., ChatTester]]:
    """Returns a function that opens a chat until the test ends; its arguments are those of `ChatTester`."""
    with ExitStack() as held:
        yield lambda *values, **options: held.enter_context(ChatTester(*values, **options))


@pytest.fixture
def assistant_cassette(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cassette]]:
    """Returns a function of a name: it opens the cassette `cassettes/<name>.json` beside the test's module."""
    with ExitStack() as held:
        folder = request.path.parent / "cassettes"
        yield lambda name, **options: held.enter_context(Cassette(folder / f"{name}.json", **options))
