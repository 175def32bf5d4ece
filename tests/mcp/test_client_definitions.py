"""Definitions of a server's tools: digests, differences and names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Tool as ListedTool
from mcp_types import ToolAnnotations

from assistant.contrib.mcp_server.tool_results import describe
from assistant.mcp_client import ToolDefinition, remote_tool
from assistant.mcp_client.definitions import difference, read_listing
from assistant.mcp_client.remote_tool import prefixed
from assistant.toolkit import InvalidArguments, ToolContext, ToolResult
from assistant.toolkit.schema.bounds import MAX_DEPTH

SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


def deep(levels: int) -> dict[str, Any]:
    """A schema of so many levels, its own among them."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels - 1):
        schema = {"type": "object", "additionalProperties": schema}
    return schema


PLAIN = ToolDefinition("get", description="Get it.", input_schema=SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "got"},
        {"title": "Get"},
        {"description": "Get it, then mail it."},
        {"input_schema": {**SCHEMA, "description": "hidden"}},
        {"output_schema": SCHEMA},
        {"is_read_only": True},
        {"is_idempotent": True},
        {"is_destructive": True},
        {"is_destructive": False},
        {"is_open_world": False},
    ],
)
def test_every_change_is_another_digest_and_shows(change: dict[str, Any]) -> None:
    changed = replace(PLAIN, **change)
    assert changed.digest != PLAIN.digest
    assert difference(PLAIN, changed)


def test_the_same_in_another_order_is_the_same() -> None:
    other = replace(PLAIN, input_schema=dict(reversed(SCHEMA.items())))
    assert other.digest == PLAIN.digest
    assert difference(PLAIN, other) == ""
    assert ToolDefinition.from_state(PLAIN.to_state()) == PLAIN


def test_a_definition_without_new_hints_keeps_its_digest() -> None:
    assert PLAIN.digest == "575a85196e5347ff355a29d375df183ae2e0a8651d9cbb53cee04a7517b4f98f"


def test_a_difference_names_both_sides() -> None:
    shown = difference(PLAIN, replace(PLAIN, description="Get it, then mail it."))
    assert '-  "description": "Get it."' in shown
    assert '+  "description": "Get it, then mail it."' in shown


@pytest.mark.parametrize(
    "unusable",
    [
        ListedTool(name="", input_schema=SCHEMA),
        ListedTool(name="x" * 200, input_schema=SCHEMA),
        ListedTool(name="a\u202eb", input_schema=SCHEMA),
        ListedTool(name="list", input_schema={"type": "array"}),
        ListedTool(name="wrong", input_schema={"type": "object", "properties": []}),
        ListedTool(name="huge", input_schema={"type": "object", "description": "x" * 50_000}),
        *(ListedTool(name="deep", input_schema=deep(levels)) for levels in (MAX_DEPTH + 1, 900, 5000)),
        ListedTool(name="deep", input_schema=SCHEMA, output_schema=deep(MAX_DEPTH + 1)),
    ],
)
def test_unusable_tools_are_left_out(unusable: ListedTool) -> None:
    good = ListedTool(name="get", input_schema=SCHEMA, annotations=ToolAnnotations(title="Get", idempotent_hint=True))
    assert [(one.name, one.title, one.is_idempotent) for one in read_listing([unusable, good, good]).tools] == [
        ("get", "Get", True)
    ]


def test_a_schema_is_taken_down_to_the_deepest_level() -> None:
    listed = ListedTool(name="deep", input_schema=deep(MAX_DEPTH), output_schema=deep(MAX_DEPTH))
    (taken,) = read_listing([listed]).tools
    assert taken.input_schema == deep(MAX_DEPTH)


@given(st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=20))
def test_names_are_fit_for_providers_and_stay_apart(names: list[str]) -> None:
    made = [prefixed("crm", name) for name in names]
    assert len(set(made)) == len(names)
    for name in made:
        assert name.startswith("crm__") and len(name) <= 64 and name.replace("_", "").replace("-", "").isascii()


async def test_a_wrapped_tool_checks_arguments_and_passes_its_context() -> None:
    seen: list[tuple[dict[str, Any], ToolContext]] = []

    async def call(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        seen.append((arguments, context))
        return ToolResult("got it")

    schema = {
        "type": "object",
        "properties": {"context": {"type": "string"}, "arguments": {"type": "integer"}, "remote_arguments__": {}},
    }
    definition = replace(PLAIN, input_schema=schema)
    tool = remote_tool(name="crm__get", definition=definition, call=call, timeout=5, requires_approval=True)
    context = ToolContext(run_id="r1")
    result = await tool.call({"context": "mine", "arguments": 7}, context)
    assert (result.content, tool.requires_approval, tool.timeout) == ("got it", True, 5)
    assert seen == [({"context": "mine", "arguments": 7}, context)]
    with pytest.raises(InvalidArguments):
        await tool.call({"tenant": 3}, context)


def test_hints_and_the_title_are_passed_on_to_mcp_clients() -> None:
    hints = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
    [definition] = read_listing(
        [ListedTool(name="wipe", title="Wipe it", input_schema=SCHEMA, annotations=hints)]
    ).tools

    async def call(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return ToolResult("done")

    told = [
        describe(remote_tool(name="crm__wipe", definition=one, call=call, timeout=5, requires_approval=True))
        for one in (definition, PLAIN)
    ]
    assert (told[0].title, told[0].annotations) == ("Wipe it", hints)
    assert (told[1].title, told[1].annotations) == ("Crm wipe", ToolAnnotations(read_only_hint=False))


HOSTILE = {
    "a reference": ({"properties": {"a": {"$ref": "http://127.0.0.1:9/a.json"}}}, "leads outside the schema"),
    "patterns": ({"properties": {f"p{n}": {"pattern": rf"\w{{300}}{n}"} for n in range(100)}}, "2000 states"),
    "size": ({"description": "x" * 40_000}, "more than 32000 characters"),
    "no schema": ({"properties": []}, 'is not of type "object"'),
}


@pytest.mark.parametrize(("schema", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_tool_whose_schema_cannot_be_held_to_is_left_out_by_name(schema: dict[str, Any], reason: str) -> None:
    bad = [
        ListedTool(name="asks", input_schema={"type": "object", **schema}),
        ListedTool(name="says", input_schema=SCHEMA, output_schema={"type": "object", **schema}),
    ]
    found = read_listing([*bad, ListedTool(name="get", input_schema=SCHEMA)])
    assert [one.name for one in found.tools] == ["get"]
    assert list(found.left_out) == ["asks", "says"]
    assert found.left_out["asks"].startswith("inputSchema: ") and reason in found.left_out["asks"]
    assert found.left_out["says"].startswith("outputSchema: ") and reason in found.left_out["says"]
    assert "says (outputSchema: " in found.sentence
