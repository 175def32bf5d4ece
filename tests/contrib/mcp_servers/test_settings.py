"""The programs that tenants may choose by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assistant.contrib.mcp_servers import defaults

pytestmark = pytest.mark.once


class Project(SimpleNamespace):
    """A settings module of a project."""

    def is_overridden(self, name: str) -> bool:
        return hasattr(self, name)


def settled(given: Any) -> tuple[Any, list[str]]:
    values, problems = defaults.ENVIRONMENT.settled(
        {"ASSISTANT_MCP_STDIO_COMMANDS": {}}, Project(ASSISTANT_MCP_STDIO_COMMANDS=given)
    )
    return values["ASSISTANT_MCP_STDIO_COMMANDS"], [name for name, _ in problems]


@pytest.mark.parametrize("given", [{"files": 1}, ["files"], {"files": []}])
def test_what_is_no_command_is_named_and_there_is_none(given: Any) -> None:
    assert settled(given) == ({}, ["ASSISTANT_MCP_STDIO_COMMANDS"])


def test_commands_are_words_by_name() -> None:
    commands = {"files": ["/bin/mcp files", "-v"]}
    assert settled(commands) == (commands, [])
