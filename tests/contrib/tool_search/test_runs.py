"""Tenants' runs with more than thirty tools search for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.client import ToolCall
from assistant.models import ToolCall as StoredCall
from assistant.providers import ScriptedModel
from assistant.services.toolpolicy import catalogue, many_tools
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import Registry, Tool
from tests.base import Cast
from tests.factories import switch_tool

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("provider")]


def make(name: str) -> Tool:
    async def run() -> str:
        return f"{name} did it"

    return Tool.from_function(run, name=name, description=f"Do {name.replace('_', ' ')}.", read_only=True)


@pytest.fixture(autouse=True)
def tools(cast: Cast) -> Iterator[list[str]]:
    names = ["ring_bell", *(f"task_{number}" for number in range(many_tools.OFFERED_AT_ONCE))]
    for name in names:
        switch_tool(cast.acme, name)
    with catalogue.using(Registry([make(name) for name in names])):
        yield names


def offered(model: ScriptedModel) -> list[set[str]]:
    return [{tool.name for tool in request.tools} for request in model.requests if request.tools]


def test_above_thirty_the_model_is_offered_what_it_has_found(cast: Cast) -> None:
    search = ToolCall("", many_tools.SEARCH_TOOL, '{"query": "ring the bell"}')
    model = ScriptedModel([search, ToolCall("", "ring_bell", "{}"), "Done."])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        answer = chat.ask("?")
    assert offered(model)[:2] == [{many_tools.SEARCH_TOOL}, {many_tools.SEARCH_TOOL, "ring_bell"}]
    assert "ring_bell did it" in answer.tool_results
    assert [call.status for call in StoredCall.objects.filter(tenant=cast.acme).order_by("pk")] == ["ok", "ok"]


def test_up_to_thirty_all_are_offered(cast: Cast, tools: list[str]) -> None:
    switch_tool(cast.acme, "ring_bell", policy="off")
    model = ScriptedModel(["Done."])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?")
    assert offered(model)[0] == {*tools} - {"ring_bell"}


def test_a_search_gives_no_permission(cast: Cast) -> None:
    switch_tool(cast.acme, "more")
    switch_tool(cast.acme, "ring_bell", policy="off")
    search = ToolCall("", many_tools.SEARCH_TOOL, '{"query": "ring the bell"}')
    model = ScriptedModel([search, ToolCall("", "ring_bell", "{}"), "Done."])
    extra = Registry([*catalogue.registry(), make("more")])
    with catalogue.using(extra), answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?")
    assert "ring_bell" not in offered(model)[1]
    assert StoredCall.objects.get(tenant=cast.acme, name="ring_bell").status == "refused"


def test_without_the_app_all_are_offered(cast: Cast, tools: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_tools, "_wrap", "")
    model = ScriptedModel(["Done."])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?")
    assert offered(model)[0] == {*tools}
