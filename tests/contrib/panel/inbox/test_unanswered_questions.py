"""A waiting call whose tool fails to say what it asks is in the inbox without a question, and the page opens."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.contrib.panel.admin.inbox.argument_fields import question_of
from assistant.models import Approval
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, Tool


def fails(arguments: Any) -> Any:
    raise KeyError(arguments["seat"])


@pytest.mark.parametrize("asks", [fails, lambda arguments: None], ids=["an error", "no question"])
def test_a_question_that_cannot_be_made_is_none(asks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"type": "object", "properties": {"seat": {"type": "string"}}}
    one = Tool(name="ask", description="Ask.", parameters=schema, handler=lambda arguments: "", asks=asks)
    monkeypatch.setattr(catalogue, "registry", lambda: Registry([one]))
    assert question_of(Approval(name="ask", arguments='{"seat": "1A"}', call_id="c1")) is None
