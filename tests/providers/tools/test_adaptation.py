"""Tools are sent as each provider takes them, and called by their own names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.core.llm.protocol import ModelRequest, ToolCallDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.core.values.wire_formats import ANTHROPIC, CHAT_COMPLETIONS, GOOGLE, WIRE_FORMATS
from assistant.providers.anthropic.model import AnthropicModel
from assistant.providers.native.property_names import other_names, renamed, value_renamed
from assistant.providers.native.tool_rules import own_arguments, sent_arguments
from assistant.providers.tool_adaptation.adapted_tool import adapted, notes_of, rules_of
from assistant.providers.tool_adaptation.schemas import plain_root
from assistant.toolkit import InvalidArguments, Tool
from tests.fake_provider import FakeProvider
from tests.providers.tools.strict_servers import StrictServer, model_at

TEXT = {"type": "string"}
# As a well-known public server has it: at least one field of an update.
UPDATE = {
    "type": "object",
    "properties": {"id": TEXT, "title": TEXT, "labels": {"type": "array"}},
    "required": ["id"],
    "anyOf": [{"required": ["title"]}, {"required": ["labels"]}],
}
# As servers of OData have it.
QUERY = {
    "type": "object",
    "properties": {
        "$top": {"type": "integer"},
        "top": TEXT,
        "where": {"$ref": "#/$defs/where"},
        "any": {"type": "object"},
    },
    "required": ["$top"],
    "$defs": {"where": {"type": "object", "properties": {"@type": TEXT, "in": {"$ref": "#/$defs/where"}}}},
}
KINDS = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "mail"}, "to": TEXT}, "required": ["kind", "to"]},
        {"$ref": "#/$defs/call"},
        {"type": "string"},
    ],
    "$defs": {
        "call": {"type": "object", "properties": {"kind": {"const": "call"}, "number": TEXT}, "required": ["kind"]}
    },
}


# As FastMCP writes a model that two parameters have, with what is said of each beside the reference.
SHARED = {
    "type": "object",
    "properties": {
        "from": {"$ref": "#/$defs/Place", "description": "Where it begins."},
        "to": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
    },
    "required": ["from"],
    "$defs": {"Place": {"type": "object", "properties": {"city": TEXT}, "required": ["city"]}},
}
MANY = {
    "type": "object",
    "properties": {"code": {"type": "string", "enum": [f"code-{number}" for number in range(1_200)]}},
    "required": ["code"],
    "additionalProperties": False,
}


# As pydantic writes a tuple.
PLACE = {
    "type": "object",
    "properties": {"at": {"type": "array", "prefixItems": [{"type": "number"}] * 2, "minItems": 2, "maxItems": 2}},
    "required": ["at"],
}


def tool(name: str, parameters: dict[str, Any], description: str = "Does it.") -> Tool:
    return Tool(name=name, description=description, parameters=parameters, handler=lambda **_: "ok")


ODD = [
    tool("update", UPDATE),
    tool("query", QUERY),
    tool("contact", KINDS),
    tool("nothing", {"type": "object"}),
    tool("7up", {"type": "object", "properties": {}}),
    tool("told", {"type": "object", "properties": {}}, "x" * 3_000),
    tool("shared", SHARED),
    tool("many", MANY),
    tool("place", PLACE),
]


async def answer_of(model: Any, request: ModelRequest) -> tuple[list[Any], Reply]:
    items = [item async for item in model.stream(request)]
    assert isinstance(items[-1], Reply)
    return items[:-1], items[-1]


@pytest.mark.parametrize("wire", WIRE_FORMATS)
@pytest.mark.parametrize("odd", ODD, ids=lambda one: one.name)
async def test_every_provider_takes_every_tool_at_once(fake_provider: FakeProvider, wire: str, odd: Tool) -> None:
    server = StrictServer(wire)
    fake_provider.rule(server)
    model = model_at(fake_provider, wire, strict=True)
    _, reply = await answer_of(model, ModelRequest([Message("user", "Hi")], tools=[odd]))
    assert (reply.text, server.refused) == ("Fine.", [])


@pytest.mark.parametrize("wire", WIRE_FORMATS)
async def test_arguments_come_back_in_the_tools_own_names(fake_provider: FakeProvider, wire: str) -> None:
    sent = adapted(ODD[1], rules_of(wire))
    own = {"$top": 5, "top": "a", "where": {"@type": "b", "in": {"@type": "c"}}, "any": {"@type": "d"}}
    wired = json.loads(sent_arguments(json.dumps(own), sent))
    fake_provider.rule(StrictServer(wire, answers=[("", [("query", wired)])]))
    deltas, reply = await answer_of(model_at(fake_provider, wire), ModelRequest([Message("user", "Hi")], tools=ODD[:2]))
    (call,) = reply.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("query", own)
    pieces = [one for one in deltas if isinstance(one, ToolCallDelta)]
    assert (pieces[0].name, "".join(one.arguments for one in pieces)) == ("query", call.arguments)


async def test_arguments_within_json_text_come_back_in_the_tools_own_names(fake_provider: FakeProvider) -> None:
    sent = adapted(ODD[1], rules_of(ANTHROPIC))
    own: dict[str, Any] = {"$top": 5, "where": {"@type": "b", "in": {"@type": "c"}}, "top": '{"@type": "a text"}'}
    wired = json.loads(sent_arguments(json.dumps(own), sent))
    wired["where"]["in"] = json.dumps(wired["where"]["in"])
    wired["where"] = json.dumps(wired["where"])
    fake_provider.rule(StrictServer(ANTHROPIC, answers=[("", [("query", wired)])]))
    model = model_at(fake_provider, ANTHROPIC)
    _, reply = await answer_of(model, ModelRequest([Message("user", "Hi")], tools=ODD[:2]))
    # The whole as text too, as models encode it twice.
    for text in (reply.tool_calls[0].arguments, own_arguments(json.dumps(json.dumps(wired)), sent)):
        found = json.loads(text)
        found["where"] = json.loads(found["where"])
        found["where"]["in"] = json.loads(found["where"]["in"])
        assert found == own


async def test_what_is_wrong_with_arguments_is_told_by_the_names_that_are_sent(fake_provider: FakeProvider) -> None:
    server = StrictServer(ANTHROPIC)
    fake_provider.rule(server)
    query = tool("query", {**QUERY, "additionalProperties": False})
    with pytest.raises(InvalidArguments) as refused:
        query.check('{"$top": "a", "where": {"@type": 1}, "limit": 2}')
    names = adapted(query, rules_of(ANTHROPIC)).names
    call = ToolCall("c1", "query", "{}")
    told = [Message("user", "Hi"), Message("assistant", tool_calls=(call,))]
    for result in (str(refused.value), 'Rows of {"$top": 1}'):
        answered = [*told, Message("tool", result, tool_call_id="c1"), Message("user", "?")]
        await answer_of(model_at(fake_provider, ANTHROPIC), ModelRequest(answered, tools=[query]))
    error, rows = (json.dumps(body["messages"][2]) for body in server.bodies)
    assert "$top" not in error and "@type" not in error and "$top" in rows
    assert f"{names['$top']}: " in error and f"where.{names['@type']}: " in error


def test_references_are_resolved_where_a_provider_takes_none() -> None:
    sent = adapted(ODD[6], rules_of(GOOGLE)).tool.parameters
    place = SHARED["$defs"]["Place"]
    assert sent["properties"]["from"] == {**place, "description": "Where it begins."}
    assert sent["properties"]["to"]["anyOf"][0] == place and "$defs" not in sent
    assert adapted(ODD[6], rules_of(ANTHROPIC)).tool is ODD[6]
    itself = adapted(ODD[1], rules_of(GOOGLE))
    assert "first level" in itself.notes[0]
    assert itself.tool.parameters["properties"]["where"]["properties"]["in"] == {"type": "object"}
    wide = {f"p{n}": {"$ref": "#/$defs/a0"} for n in range(9)}
    levels = {
        f"a{n}": {"type": "object", "properties": {f"q{m}": {"$ref": f"#/$defs/a{n + 1}"} for m in range(9)}}
        for n in range(9)
    }
    bomb = tool("bomb", {"type": "object", "properties": wide, "$defs": {**levels, "a9": TEXT}})
    assert len(json.dumps(adapted(bomb, rules_of(GOOGLE)).tool.parameters)) < 500_000


async def test_earlier_calls_go_back_by_the_names_that_are_sent(fake_provider: FakeProvider) -> None:
    server = StrictServer(ANTHROPIC)
    fake_provider.rule(server)
    call = ToolCall("c1", "query", '{"$top": 5}')
    told = [Message("user", "Hi"), Message("assistant", tool_calls=(call,)), Message("tool", "7", tool_call_id="c1")]
    await answer_of(model_at(fake_provider, ANTHROPIC), ModelRequest([*told, Message("user", "?")], tools=ODD[:2]))
    (used,) = [block for block in server.bodies[-1]["messages"][1]["content"] if block["type"] == "tool_use"]
    assert used["input"] == {next(iter(adapted(ODD[1], rules_of(ANTHROPIC)).names.values())): 5}


async def test_a_tool_may_have_a_name_that_google_refuses(fake_provider: FakeProvider) -> None:
    server = StrictServer(GOOGLE, answers=[("", [("_7up", {})])])
    fake_provider.rule(server)
    request = ModelRequest([Message("user", "Hi")], tools=ODD, tool_choice="7up")
    _, reply = await answer_of(model_at(fake_provider, GOOGLE), request)
    assert "_7up" in server.offered and [call.name for call in reply.tool_calls] == ["7up"]


def test_alternatives_become_one_object_that_says_what_belongs_together() -> None:
    schema, words = plain_root(UPDATE)
    assert (schema["required"], words) == (["id"], "Give at least one of these: title; or labels.")
    schema, words = plain_root(KINDS)
    assert schema["properties"]["kind"] == {"enum": ["mail", "call"]} and schema["required"] == ["kind"]
    assert words == 'Give exactly one of these: kind="mail" and to; or kind="call".'


def test_a_schema_that_contains_itself_is_made_plain_too() -> None:
    node: dict[str, Any] = {"properties": {"a": TEXT}, "anyOf": [{"$ref": "#/$defs/node"}]}
    schema, _ = plain_root({"$ref": "#/$defs/node", "$defs": {"node": node}})
    assert schema["properties"] == {"a": TEXT} and "anyOf" not in schema


def test_a_plain_tool_is_sent_as_it_is() -> None:
    plain = tool("plain", {"type": "object", "properties": {"a": TEXT}})
    assert all(adapted(plain, rules_of(wire)).tool is plain for wire in WIRE_FORMATS)
    assert notes_of(plain) == []


def test_operators_read_what_is_lost_and_where() -> None:
    assert notes_of(ODD[0]) == [
        "OpenAI, Anthropic, Google: Its alternatives (anyOf, oneOf, allOf, not) are told in words: "
        "Give at least one of these: title; or labels."
    ]
    assert [note.partition(":")[0] for note in notes_of(ODD[1])] == ["Anthropic", "Google"]


@pytest.mark.parametrize(("wire", "count"), [(CHAT_COMPLETIONS, 128), (ANTHROPIC, 130)])
async def test_more_tools_than_a_provider_takes_are_not_sent(
    fake_provider: FakeProvider, wire: str, count: int
) -> None:
    fake_provider.rule(server := StrictServer(wire))
    many = [tool(f"tool_{number}", {"type": "object", "properties": {}}) for number in range(130)]
    await answer_of(model_at(fake_provider, wire), ModelRequest([Message("user", "Hi")], tools=many))
    assert server.offered == [one.name for one in many[:count]]


@given(st.dictionaries(st.text(min_size=1, max_size=90), st.integers(), max_size=12))
def test_renaming_is_undone(value: dict[str, int]) -> None:
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in value}}
    names = other_names(schema, AnthropicModel.rules.property_name)
    sent = renamed(schema, names)
    assert all(AnthropicModel.rules.property_name.fullmatch(name) for name in sent["properties"])
    assert len(sent["properties"]) == len(value)
    there = value_renamed(value, schema, names)
    assert value_renamed(there, sent, {new: own for own, new in names.items()}) == value
