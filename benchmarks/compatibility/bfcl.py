"""The reference calls of the Berkeley Function Calling Leaderboard (`bfcl-eval`) with tools made of its functions."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from assistant.client import CalledTool
from assistant.toolkit import Tool, register_converter
from benchmarks.compatibility.turns import Call, Tally, Work, run_calls

# Categories whose reference is calls with the values that are right. The others have no calls as their reference:
# answers (memory, web search), or that nothing is to be called (irrelevance).
SINGLE_TURN = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)
MULTI_TURN = ("multi_turn_base", "multi_turn_long_context", "multi_turn_miss_func", "multi_turn_miss_param")
# The types of Python, Java and JavaScript in the functions of the set, as JSON Schema has them.
TYPES: Mapping[str, str | None] = {
    "dict": "object",
    "HashMap": "object",
    "float": "number",
    "double": "number",
    "integer": "integer",
    "long": "integer",
    "string": "string",
    "String": "string",
    "char": "string",
    "boolean": "boolean",
    "Boolean": "boolean",
    "array": "array",
    "tuple": "array",
    "Array": "array",
    "ArrayList": "array",
    "any": None,
    "": None,
}
# Of a schema, what is about its shape; defaults of the set are often no value of their own type.
_SHAPE = ("description", "enum", "required", "items", "properties", "type")


def as_schema(described: Any) -> Any:
    """Return a function's parameters as JSON Schema. In Java and JavaScript, values are written as source code."""
    if not isinstance(described, Mapping):
        return described
    schema = {key: described[key] for key in _SHAPE if key in described}
    kind = TYPES[schema.pop("type", "")]
    if kind is not None:
        schema["type"] = kind
    if "default" in described:
        schema = _with_default(schema, described["default"])
    if isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {name: as_schema(value) for name, value in schema["properties"].items()}
        schema["required"] = [name for name in schema.get("required", ()) if name in schema["properties"]]
    if "items" in schema:
        schema["items"] = as_schema(schema["items"])
    return schema


def _with_default(schema: dict[str, Any], default: Any) -> dict[str, Any]:
    """Return a schema that allows the value that the set gives as the parameter's default."""
    if "enum" in schema and default not in schema["enum"]:
        schema = {**schema, "enum": [*schema["enum"], default]}
    if default is None and "type" in schema:
        schema = {**schema, "type": [schema["type"], "null"]}
    return schema


def tool_name(name: str) -> str:
    """Return a function's name as providers accept it."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]


def first_values(allowed: Any) -> Any:
    """Return the first of the values that a parameter may have, also within objects; `...` to leave it out."""
    if allowed == [] or (len(allowed) > 1 and allowed[0] == ""):
        return ...
    return _within(allowed[0])


def _within(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _chosen({name: one if isinstance(one, list) else [one] for name, one in value.items()})
    if isinstance(value, list):
        return [_within(one) for one in value]
    return value


def _chosen(parameters: Mapping[str, list[Any]]) -> dict[str, Any]:
    values = {name: first_values(allowed) for name, allowed in parameters.items()}
    return {name: value for name, value in values.items() if value is not ...}


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


async def single_turn(data: Path, category: str) -> Tally:
    """Run the calls of a category; what its functions get must be what the reference says."""
    tally = Tally(f"`bfcl-eval`, {category}")
    answers = {one["id"]: one["ground_truth"] for one in lines(data / f"possible_answer/BFCL_v4_{category}.json")}
    for case in lines(data / f"BFCL_v4_{category}.json"):
        received: list[Call] = []
        tools = {tool_name(function["name"]): _recording(function, received) for function in case["function"]}
        calls: list[Call] = [
            (tool_name(name), _chosen(given)) for answer in answers[case["id"]] for name, given in answer.items()
        ]
        called = await run_calls(tools.values(), [calls])
        tally.calls += len(calls)
        tally.tasks += 1
        contradicts = _note(tally, case["id"], tools, called)
        if not contradicts and not _same(received, calls):
            tally.different.append(f"{case['id']}: {received}, not {calls}")
    return tally


def _note(tally: Tally, case: str, tools: Mapping[str, Tool], called: Iterable[CalledTool]) -> bool:
    """Note the calls that were refused; return whether any contradicts the schema of its own function."""
    contradicts = False
    for one in called:
        if one.status == "ok":
            continue
        line = f"{case}: {one.name} {dict(one.arguments)}: {one.error}"
        if _fits(dict(one.arguments), tools[one.name].parameters):
            tally.refused.append(line)
        else:
            contradicts = True
            tally.contradicting.append(line)
    return contradicts


def _fits(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return what another validator says of a call."""
    closed = {"additionalProperties": False, **schema}
    return bool(importlib.import_module("jsonschema").Draft202012Validator(closed).is_valid(arguments))


def _same(received: list[Call], calls: list[Call]) -> bool:
    """Return whether functions got just these calls, in any order; calls of one reply run at the same time."""
    left = list(received)
    for call in calls:
        if call not in left:
            return False
        left.remove(call)
    return not left


def _recording(function: Mapping[str, Any], received: list[Call]) -> Tool:
    name = tool_name(function["name"])

    def record(arguments: dict[str, Any]) -> str:
        received.append((name, dict(arguments)))
        return "ok"

    parameters = as_schema(function["parameters"])
    parameters.setdefault("properties", {})
    return Tool(name=name, description=function["description"], parameters=parameters, handler=record)


def _register_converters() -> None:
    """Let results have what the set's own functions return, and JSON has no word for: numbers of mpmath, and `...`."""
    number = importlib.import_module("mpmath").mpf
    register_converter(lambda value: isinstance(value, number), float)
    register_converter(lambda value: value is ..., str)


async def multi_turn(data: Path, category: str) -> Tally:
    """Run the calls of a category on its own classes; they must end in the state that the calls themselves lead to."""
    tally = Tally(f"`bfcl-eval`, {category}")
    backend: Any = importlib.import_module("bfcl_eval.constants.executable_backend_config")
    docs = {
        name: {one["name"]: one for one in lines(data / "multi_turn_func_doc" / file)}
        for name, file in backend.MULTI_TURN_FUNC_DOC_FILE_MAPPING.items()
    }
    answers = {one["id"]: one["ground_truth"] for one in lines(data / f"possible_answer/BFCL_v4_{category}.json")}
    for case in lines(data / f"BFCL_v4_{category}.json"):
        own = _instances(case, backend)
        reference = _instances(case, backend)
        tools = {
            name: Tool(
                name=name,
                description=described["description"],
                parameters=as_schema(described["parameters"]),
                handler=getattr(instance, name),
            )
            for owner, instance in own.items()
            for name, described in docs[owner].items()
        }
        rounds = [[_parsed(call, reference) for call in turn] for turn in answers[case["id"]]]
        called = await run_calls(tools.values(), [[call] for turn in rounds for call in turn])
        for turn in rounds:
            for name, arguments in turn:
                _directly(name, arguments, reference)
        tally.calls += len(called)
        tally.tasks += 1
        contradicts = _note(tally, case["id"], tools, called)
        if not contradicts and any(_state(own[name]) != _state(reference[name]) for name in own):
            tally.different.append(case["id"])
    return tally


def _instances(case: Mapping[str, Any], backend: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in case["involved_classes"]:
        instance = getattr(importlib.import_module(backend.CLASS_FILE_PATH_MAPPING[name]), name)()
        if name not in backend.STATELESS_CLASSES:
            scenario = copy.deepcopy(case.get("initial_config", {}).get(name, {}))
            instance._load_scenario(scenario, long_context="long_context" in case["id"])
        made[name] = instance
    return made


def _parsed(call: str, instances: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a call that is written as Python source."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    name = node.func.id
    method = next(getattr(instance, name) for instance in instances.values() if hasattr(instance, name))
    positional = [ast.literal_eval(value) for value in node.args]
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    return name, dict(inspect.signature(method).bind(*positional, **named).arguments)


def _directly(name: str, arguments: Mapping[str, Any], instances: Mapping[str, Any]) -> None:
    method = next(getattr(instance, name) for instance in instances.values() if hasattr(instance, name))
    method(**arguments)


def _state(value: Any) -> Any:
    """Return what the set's own checker compares: public values, and those of the objects in them."""
    if isinstance(value, Mapping):
        return {str(key): _state(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_state(one) for one in value]
    if hasattr(value, "__dict__"):
        return {key: _state(one) for key, one in vars(value).items() if key != "parent" and not key.startswith("_")}
    return value


def work() -> dict[str, Work]:
    """Return what runs each category, by name."""
    data = Path(inspect.getfile(importlib.import_module("bfcl_eval"))).parent / "data"
    _register_converters()
    found: dict[str, Work] = {f"bfcl {name}": partial(single_turn, data, name) for name in SINGLE_TURN}
    return {**found, **{f"bfcl {name}": partial(multi_turn, data, name) for name in MULTI_TURN}}
