"""Wrong roles are refused: workers need what several processes share."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from assistant.checks import role
from assistant.services import roles
from assistant.services.roles import does_background_work, starts_queued_runs

REDIS = "redis://127.0.0.1:9/0"


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the database be of another kind."""
    return lambda vendor: monkeypatch.setattr(roles, "connection", SimpleNamespace(vendor=vendor))


def problems() -> list[str]:
    return [found.msg for found in role(None)]


def test_one_process_that_does_everything_needs_nothing() -> None:
    assert problems() == []


def test_there_are_no_workers_beside_a_process_that_does_everything(settings: Any) -> None:
    settings.ASSISTANT_RUNS_ON = "workers"
    assert problems() == ["ASSISTANT_RUNS_ON is workers, but ASSISTANT_ROLE is all: there are none."]


def test_workers_need_postgresql(settings: Any, on: Callable[[str], None]) -> None:
    on("sqlite")
    settings.ASSISTANT_ROLE = "worker"
    settings.ASSISTANT_REDIS_URL = REDIS
    assert problems() == ["ASSISTANT_ROLE is worker, but the database is not PostgreSQL."]


def test_workers_need_redis_and_runs_that_can_wait(settings: Any, on: Callable[[str], None]) -> None:
    on("postgresql")
    settings.ASSISTANT_ROLE = "web"
    settings.ASSISTANT_REDIS_URL = ""
    assert problems() == ["ASSISTANT_ROLE is web, but ASSISTANT_REDIS_URL is not set."]
    settings.ASSISTANT_REDIS_URL = REDIS
    settings.ASSISTANT_RUNS_ON = "workers"
    settings.ASSISTANT_RUN_QUEUE_SECONDS = 0
    assert problems() == [
        "ASSISTANT_RUNS_ON is workers, but ASSISTANT_RUN_QUEUE_SECONDS is 0: runs cannot wait for them."
    ]
    settings.ASSISTANT_RUN_QUEUE_SECONDS = 60
    assert problems() == []


@pytest.mark.parametrize(
    ("name", "runs_on", "background", "queued"),
    [
        ("all", "web", True, True),
        ("web", "web", False, True),
        ("web", "workers", False, False),
        ("worker", "workers", True, True),
    ],
)
def test_what_each_role_does(settings: Any, name: str, runs_on: str, background: bool, queued: bool) -> None:
    settings.ASSISTANT_ROLE = name
    settings.ASSISTANT_RUNS_ON = runs_on
    assert (does_background_work(), starts_queued_runs()) == (background, queued)


def test_the_command_is_for_workers_alone(settings: Any) -> None:
    with pytest.raises(CommandError, match="ASSISTANT_ROLE=worker"):
        call_command("assistant_worker")
    settings.ASSISTANT_ROLE = "worker"
    with pytest.raises(CommandError, match="--runs"):
        call_command("assistant_worker", runs=0)
