"""Servers of each wire format that refuse tools as the real ones do, in their words, and answer everything else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from assistant.core.values.wire_formats import ANTHROPIC, CHAT_COMPLETIONS, GOOGLE, RESPONSES
from assistant.providers import model_class
from tests import fake_answers
from tests.fake_answers import Answer, Recorded, Script
from tests.fake_provider import FakeProvider
from tests.providers.native import anthropic_wire, google_wire
from tests.providers.responses import wire as responses_wire

Json = dict[str, Any]
COMBINED = ("oneOf", "anyOf", "allOf", "enum", "not")


@dataclass
class StrictServer:
    """The rule of a fake provider.

    Attributes:
        poison: a word; tools whose schema has it are refused in the words of `refuse`, besides those against the rules.
        refuse: says the refusal of a tool by its place and name.
        in_stream: whether it begins to answer with status 200 before it refuses.
        answers: given in turn, as (text, calls); then "Fine."
        refused: what was said, `accepted` the tools of each request that was answered.
    """

    wire: str
    poison: str = ""
    refuse: Callable[[int, str], str] = lambda place, name: f"tools[{place}]: invalid schema for '{name}'"
    in_stream: bool = False
    answers: list[tuple[str, list[tuple[str, Any]]]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    accepted: list[list[Json]] = field(default_factory=list)
    bodies: list[Json] = field(default_factory=list)

    def __call__(self, request: Recorded) -> Answer:
        tools = list(_tools(self.wire, request.json))
        for place, tool in enumerate(tools):
            problem = _RULES[self.wire](place, tool)
            if self.poison and self.poison in str(tool["parameters"]):
                problem = self.refuse(place, tool["name"])
            if problem:
                self.refused.append(problem)
                return _failed_in_stream(self.wire, problem) if self.in_stream else _failed(self.wire, problem)
        self.accepted.append(tools)
        self.bodies.append(request.json)
        answer = _say(self.wire, *(self.answers.pop(0) if self.answers else ("Fine.", [])))
        return answer if isinstance(answer, Answer) else answer(request)

    @property
    def offered(self) -> list[str]:
        """The names of the tools of the latest request that was answered."""
        return [tool["name"] for tool in self.accepted[-1]]


def model_at(provider: FakeProvider, wire: str, **options: Any) -> Any:
    """Return a model of this wire format that asks the fake provider."""
    return model_class(wire)("fake", **{"base_url": provider.url, "api_key": "k", "max_retries": 0, **options})


def _tools(wire: str, body: Json) -> Iterator[Json]:
    for tool in body.get("tools", ()):
        if wire == CHAT_COMPLETIONS:
            yield {"strict": False, **tool["function"]}
        elif wire == RESPONSES:
            yield {"strict": False, **tool}
        elif wire == ANTHROPIC:
            yield {**tool, "parameters": tool["input_schema"]}
        else:
            for one in tool["functionDeclarations"]:
                yield {**one, "parameters": one.get("parametersJsonSchema", {})}


def _openai(place: int, tool: Json) -> str:
    name, schema = tool["name"], tool["parameters"]
    if len(tool["description"]) > 1024:
        return (
            f"Invalid 'tools[{place}].function.description': string too long. Expected a string with maximum length "
            f"1024, but got a string with length {len(tool['description'])} instead."
        )
    if schema.get("type") != "object" or not set(COMBINED).isdisjoint(schema):
        return (
            f"Invalid schema for function '{name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/"
            "'allOf'/'enum'/'not' at the top level."
        )
    if "properties" not in schema:
        return f"Invalid schema for function '{name}': In context=(), object schema missing properties."
    values = sum(len(one["enum"]) for one in _schemas(schema) if isinstance(one.get("enum"), list))
    if tool["strict"] and values > 1_000:
        return (
            f"Invalid schema for function '{name}': Expected at most 1000 enum values in total within a single schema "
            f"when using structured outputs, but received {values}."
        )
    if any(one.get("type") == "array" and "items" not in one for one in _schemas(schema)):
        return f"Invalid schema for function '{name}': In context=('properties', 'x'), array schema missing items."
    return ""


def _anthropic(place: int, tool: Json) -> str:
    schema = tool["parameters"]
    if not {"oneOf", "anyOf", "allOf"}.isdisjoint(schema):
        return (
            f"tools.{place}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        )
    if schema.get("type") != "object":
        return f"tools.{place}.custom.input_schema.type: Field required"
    for name in (name for one in _schemas(schema) for name in one.get("properties", ())):
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
            return (
                f"tools.{place}.custom.input_schema.properties: Property keys should match pattern "
                "'^[a-zA-Z0-9_.-]{1,64}$'"
            )
    return ""


def _google(place: int, tool: Json) -> str:
    place_of = f"* GenerateContentRequest.tools[0].function_declarations[{place}]"
    if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", tool["name"]):
        return f"{place_of}.name: Invalid function name. Must start with a letter or an underscore."
    schema = tool["parameters"]
    if schema and (schema.get("type") != "object" or not set(COMBINED).isdisjoint(schema)):
        return f"{place_of}.parameters: schema should be of type OBJECT."
    if any("$ref" in one or "$defs" in one for one in _schemas(schema)):
        return "reference to undefined schema at properties.where"
    return ""


_RULES = {CHAT_COMPLETIONS: _openai, RESPONSES: _openai, ANTHROPIC: _anthropic, GOOGLE: _google}


def _schemas(node: Any) -> Iterator[Json]:
    """Yield every object in a schema; good enough for schemas of tests, whose values are no schemas."""
    if isinstance(node, dict):
        yield node
        for one in node.values():
            yield from _schemas(one)
    elif isinstance(node, list):
        for one in node:
            yield from _schemas(one)


def _failed(wire: str, said: str) -> Answer:
    if wire == ANTHROPIC:
        return anthropic_wire.failed(400, said)
    if wire == GOOGLE:
        return google_wire.failed(400, said)
    error = {"message": said, "type": "invalid_request_error", "param": "tools", "code": "invalid_function_parameters"}
    return fake_answers.respond(400, {"error": error})


def _failed_in_stream(wire: str, said: str) -> Answer:
    events: list[Json] = []
    if wire == ANTHROPIC:
        events.append({"type": "error", "error": {"type": "invalid_request_error", "message": said}})
    elif wire == GOOGLE:
        events.append({"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}})
    elif wire == RESPONSES:
        events.append({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}})
        events.append({"type": "error", "code": "invalid_function_parameters", "message": said, "param": "tools"})
    else:
        events.append({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        events.append({"error": {"message": said, "type": "invalid_request_error", "code": 400}})
    steps: list[fake_answers.Step] = [b": PROCESSING\n\n", 0.01]
    steps += [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Answer(steps)


def _say(wire: str, said: str, calls: list[tuple[str, Any]]) -> Answer | Script:
    if wire == ANTHROPIC:
        return anthropic_wire.say(said, calls=calls)
    if wire == GOOGLE:
        return google_wire.say(said, calls=calls)
    if wire == RESPONSES:
        items = [responses_wire.calls(name, arguments) for name, arguments in calls] or [responses_wire.says(said)]
        return responses_wire.answer(*items)
    return fake_answers.reply(said, calls=calls)
