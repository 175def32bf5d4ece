"""The address of Redis is checked, whether it is a variable or a setting of the project's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assistant.contrib.redis import defaults
from assistant.optional_apps import protecting_settings

pytestmark = pytest.mark.once


def settled(address: Any) -> tuple[Any, list[str]]:
    own = SimpleNamespace(ASSISTANT_REDIS_URL=address, is_overridden=lambda name: name == "ASSISTANT_REDIS_URL")
    values, problems = defaults.ENVIRONMENT.settled({"ASSISTANT_REDIS_URL": ""}, own)
    return values["ASSISTANT_REDIS_URL"], [name for name, _ in problems]


@pytest.mark.parametrize("address", ["http://localhost", 6379, "redis://127.0.0.1/first"])
def test_a_wrong_address_is_named_and_left_out(address: Any) -> None:
    assert settled(address) == ("", ["ASSISTANT_REDIS_URL"])


@pytest.mark.parametrize("address", ["redis://127.0.0.1:6379/0", "rediss://r", "unix:///run/redis.sock"])
def test_a_right_address_is_kept(address: str) -> None:
    assert settled(address) == (address, [])


def test_an_address_without_the_app_is_an_error() -> None:
    assert "ASSISTANT_REDIS_URL" in protecting_settings()
