"""Fields that the model fills beside a tool's parameters, in a tenant's run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.client import ToolCall
from assistant.models import ToolCall as CallRow
from assistant.providers import ScriptedModel
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.factories import switch_tool

pytestmark = pytest.mark.django_db


class Reasons(BaseModel):
    why: str


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize("edits", [{}, {"editedArgs": {"number": 7}}])
def test_who_approves_sees_the_fields_the_audit_keeps_them_and_the_tool_never_gets_them(
    cast: Cast, edits: dict[str, Any]
) -> None:
    closed: list[int] = []

    @tool(augmentation=Reasons)
    def close_account(number: int) -> str:
        """Close an account."""
        closed.append(number)
        return "closed"

    switch_tool(cast.acme, "close_account", "ask")
    arguments = json.dumps({"number": 42, "why": "Bob asked for it"})
    model = ScriptedModel([ToolCall("", "close_account", arguments), "Closed.", "Title"])
    with (
        catalogue.using(Registry([close_account])),
        answer_with(model),
        ChatTester(cast.acme, cast.alice, "support") as chat,
    ):
        waiting = chat.ask("Close 42")
        (interrupt,) = waiting.waiting
        assert [field["name"] for field in interrupt["metadata"]["form"]] == ["why", "number"]
        assert chat.decide(waiting, approved=True, **edits).text == "Closed."
    assert list(model.requests[0].tools[0].parameters["properties"]) == ["why", "number"]
    number = 7 if edits else 42
    assert closed == [number]
    call = CallRow.objects.get(tenant=cast.acme)
    assert json.loads(call.arguments) == {"why": "Bob asked for it", "number": number}
