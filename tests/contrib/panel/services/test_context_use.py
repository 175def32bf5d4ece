"""What a tool reads of its context is found in its source, for the tool's page."""

from __future__ import annotations

import pytest

from assistant.contrib.panel.services.context_use import WHOLE, context_keys
from assistant.toolkit import Tool, ToolContext, tool


def _zone(context: ToolContext) -> str:
    return context.tenant.timezone


def _outside(**_: object) -> str:
    return ""


@tool
def no_context(text: str) -> str:
    """Do it."""
    return text


@tool(secrets=["token"], needs_context=["order"])
def reads(context: ToolContext) -> str:
    """Do it."""
    context.mark_untrusted("page")
    return context.user.username + context.secret("token") + context.extra["order"] + context.extra.get("end_user", "")


@tool
def asks_a_function(context: ToolContext) -> str:
    """Do it."""
    return _zone(context)


@tool
def gives_it_away(context: ToolContext) -> str:
    """Do it."""
    return str(vars(context))


@tool
def gives_it_by_name(context: ToolContext) -> str:
    """Do it."""
    return _zone(context=context) + _outside(**{"a": context})


@pytest.mark.parametrize(
    ("of", "keys"),
    [
        (no_context, []),
        (reads, ["extra order", "extra end_user", "secret token", "user.username"]),
        (asks_a_function, ["tenant.timezone"]),
        (gives_it_away, [WHOLE]),
        (gives_it_by_name, [WHOLE, "tenant.timezone"]),
    ],
)
def test_what_a_tool_reads_of_its_context(of: Tool, keys: list[str]) -> None:
    assert context_keys(of) == keys


def test_a_function_without_source_may_read_anything() -> None:
    scope: dict[str, object] = {"ToolContext": ToolContext}
    exec("def made(context: ToolContext) -> str:\n    'Do it.'\n    return context.user.username", scope)
    assert context_keys(Tool.from_function(scope["made"])) == [WHOLE]  # type: ignore[arg-type]
