"""An answer goes to the server that asked, and to no other one that asks the same."""

from __future__ import annotations

from typing import Any

from assistant.mcp_client import CallQuestions

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"seat": {"type": "string"}}}


def test_an_answer_is_given_to_no_other_server() -> None:
    asked = CallQuestions("crm", {}, "1 https://crm.example/mcp")
    assert asked.answer("Which seat?", SCHEMA) is None and asked.open is not None
    answers = {asked.open.key: {"seat": "Aisle"}}
    same = CallQuestions("crm", answers, "1 https://crm.example/mcp").answer("Which seat?", SCHEMA)
    assert same is not None and same.content == {"seat": "Aisle"}
    for address in ("1 https://elsewhere.example/mcp", "2 https://crm.example/mcp"):
        other = CallQuestions("crm", answers, address)
        assert other.answer("Which seat?", SCHEMA) is None and other.open is not None
