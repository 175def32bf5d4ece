"""Functions without a docstring, where a program lets them be tools."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.client import ChatClient
from assistant.providers import ScriptedModel
from assistant.toolkit import InvalidTool, Tool, describe_by_name, tool


def findOrder(number: int) -> str:
    return f"order {number}"


@pytest.fixture
def _by_name() -> Iterator[None]:
    describe_by_name()
    yield
    describe_by_name(enabled=False)


def test_it_is_refused_by_default() -> None:
    with pytest.raises(InvalidTool, match="no description"):
        tool(findOrder)


@pytest.mark.usefixtures("_by_name")
async def test_the_description_is_made_of_the_name_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel(["ok"])
    await ChatClient(model=model, tools=[findOrder]).call("?")
    assert model.requests[0].tools[0].description == "Find order."
    (record,) = caplog.records
    assert record.levelname == "WARNING" and "findOrder" in record.getMessage()


@pytest.mark.usefixtures("_by_name")
def test_what_has_a_description_keeps_it_and_an_empty_one_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    def cancel_order() -> str:
        """Cancel it."""
        return ""

    assert Tool.from_function(cancel_order).description == "Cancel it."
    with pytest.raises(InvalidTool):
        Tool.from_function(findOrder, description="")
    assert caplog.records == []
