"""Nested parameters as the embedded model reads them: in few words, and the same ones once."""

from __future__ import annotations

from typing import Any

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.history_window import estimate_tokens
from assistant.core.values.messages import Message
from assistant.providers.embedded.compact_schemas import compact
from assistant.providers.embedded.model import prepared
from assistant.toolkit import Tool

NUMBER = {"type": "object", "properties": {"is": {"type": "number"}, "at_least": {"type": "number"}}}
STATUS = {
    "type": "object",
    "properties": {"is": {"type": "string", "enum": ["open", "paid"]}},
    "description": "Status. open: Waits",
}
WHERE = {
    "type": "object",
    "properties": {"number": NUMBER | {"description": "Number"}, "total": NUMBER, "status": STATUS},
    "description": "Conditions",
}
SAID = (
    'Conditions. Any of {number, total: {is, at_least: number}; status: {is: "open" | "paid"}}. '
    'status: open: Waits. Such as {"number": {"is": 1}}'
)


def tool_of(name: str, **properties: Any) -> Tool:
    return Tool(name=name, description="x", parameters={"type": "object", "properties": properties}, handler=dict)


def properties_of(*tools: Tool) -> list[Any]:
    return [tool.parameters["properties"] for tool in compact(tools)]


def test_properties_of_one_type_are_named_together_with_what_they_mean_and_a_sample() -> None:
    page = {"type": "integer"}
    assert properties_of(tool_of("find", where=WHERE, page=page)) == [
        {"where": {"type": "object", "description": SAID}, "page": page}
    ]


def test_what_two_tools_share_is_said_once() -> None:
    _, second = properties_of(tool_of("find", where=WHERE), tool_of("sum", where=WHERE))
    assert second["where"]["description"] == "As where of find"


def test_lists_and_references_say_which_properties_are_required() -> None:
    line = {"type": "object", "properties": {"article": {"type": "string"}}, "required": ["article"]}
    lines = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Line"}}, {"type": "null"}]}
    tool = Tool(
        name="order",
        description="x",
        parameters={"type": "object", "properties": {"lines": lines}, "$defs": {"Line": line}},
        handler=dict,
    )
    assert properties_of(tool) == [
        {
            "lines": {
                "type": "array",
                "description": 'Each has {article (required): string}. Such as [{"article": "…"}]',
            }
        }
    ]


def test_what_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}}
    tool = Tool(
        name="tree",
        description="x",
        parameters={"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}},
        handler=dict,
    )
    (found,) = properties_of(tool)
    assert found["root"]["description"].startswith("Any of {child: {child: {child:")


def test_tools_without_nested_parameters_are_sent_as_they_are() -> None:
    tool = tool_of("page", page={"type": "integer"})
    assert compact([tool])[0] is tool


def test_the_embedded_model_is_sent_a_third_of_many_conditions() -> None:
    columns = {f"column_{number}": NUMBER for number in range(20)}
    tool = tool_of("find", where={"type": "object", "properties": columns})
    (sent,) = prepared(ModelRequest([Message("user", "How many?")], tools=[tool])).tools
    assert 3 * estimate_tokens(str(sent.parameters)) < estimate_tokens(str(tool.parameters))
