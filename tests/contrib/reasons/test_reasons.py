"""Assistants whose model says why it calls a tool: who sees it, and that tools never do."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from assistant.client import ToolCall
from assistant.models import Assistant
from assistant.models import ToolCall as StoredCall
from assistant.providers import ScriptedModel
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.factories import switch_tool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]

WHY = {"why": "Ann asked for it.", "confidence": "high"}


@tool
def find_order(customer: str) -> str:
    """Find a customer's last order."""
    return f"order of {customer}"


@tool
def explain(why: str) -> str:
    """Explain."""
    return why


@pytest.fixture(autouse=True)
def _setup(cast: Cast) -> Iterator[None]:
    Assistant.objects.filter(pk=cast.support.pk).update(extensions=["reasons"])
    switch_tool(cast.acme, "find_order")
    switch_tool(cast.acme, "explain")
    with catalogue.using(Registry([find_order, explain])):
        yield


def call(**fields: str) -> ToolCall:
    return ToolCall("", "find_order", json.dumps({"customer": "Ann", **fields}))


def test_the_model_says_why_and_the_tool_never_gets_it(cast: Cast) -> None:
    model = ScriptedModel([call(**WHY), "Here."])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        assert chat.ask("?").tool_results == ["order of Ann"]
    offered = {one.name: list(one.parameters["properties"]) for one in model.requests[0].tools}
    assert offered == {"find_order": ["why", "confidence", "customer"], "explain": ["why"]}
    (stored,) = StoredCall.objects.filter(tenant=cast.acme)
    assert json.loads(stored.arguments)["why"] == "Ann asked for it."


def test_a_call_without_a_reason_goes_back_to_the_model(cast: Cast) -> None:
    model = ScriptedModel([call(), call(**WHY), "Here."])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        first, second = chat.ask("?").tool_results
    assert "why" in first and second == "order of Ann"


@pytest.mark.parametrize("edited", [{"customer": "Bob"}, {"customer": "Bob", **WHY}])
def test_who_approves_reads_it_and_may_edit_with_or_without_it(cast: Cast, edited: dict[str, str]) -> None:
    switch_tool(cast.acme, "find_order", "ask")
    with answer_with(ScriptedModel([call(**WHY), "Here."])), ChatTester(cast.acme, cast.alice, "support") as chat:
        asked = chat.ask("?")
        assert "why" in json.dumps(asked.waiting)
        answer = chat.decide(asked, approved=True, editedArgs=edited)
    assert answer.tool_results[0].endswith("\norder of Bob")


def test_assistants_without_it_are_not_asked(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(extensions=[])
    model = ScriptedModel("Hello.")
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?")
    assert list(model.requests[0].tools[0].parameters["properties"]) == ["customer"]
