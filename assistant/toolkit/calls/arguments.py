"""From the text a model sends to arguments that follow the schema; what it meant is never guessed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pydantic_core
from pydantic import ValidationError

from assistant.toolkit.bounded_json import TooDeep, is_deeper, load_json
from assistant.toolkit.errors import InvalidArguments
from assistant.toolkit.schema.alternatives import branches, could_be, keep_apart
from assistant.toolkit.schema.error_sentences import UNKNOWN
from assistant.toolkit.schema.json_schema import JsonSchema, Steps, TooManySteps, kinds_of, resolve
from assistant.toolkit.validation_errors import error_details

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 64
# Problems that the model is told of at once, and characters of a name that it made up.
MAX_PROBLEMS = 10
MAX_NAME = 80
# Properties that are looked at to put arguments right; what needs more is taken as it is.
_MOST_STEPS = 20_000
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call, as JSON text and as what it says."""

    text: str
    parsed: dict[str, Any]


def parse_arguments(arguments: str | bytes | Mapping[str, Any] | None) -> Arguments:
    """Read a model's arguments; "" and null are an empty object.

    Raises:
        InvalidArguments: no JSON, no object, a name twice, NaN or infinity, too long, or nested too deeply.
    """
    try:
        text = _text(arguments)
        if len(text) > MAX_CHARACTERS:
            raise InvalidArguments(f"The arguments are longer than {MAX_CHARACTERS} characters.")
        parsed = load_json(text, max_depth=MAX_DEPTH, loads=_decode) if text.strip() else None
    except TooDeep:
        raise InvalidArguments(f"The arguments are nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as exc:
        raise InvalidArguments(f"The arguments are not valid JSON: {str(exc)[:200].rstrip('.')}.") from None
    if parsed is None:
        return Arguments("{}", {})
    if not isinstance(parsed, dict):
        raise InvalidArguments("The arguments must be a JSON object.")
    return Arguments(text, parsed)


def _text(arguments: str | bytes | Mapping[str, Any] | None) -> str:
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, bytes):
        return arguments.decode()
    if arguments is None:
        return ""
    if not isinstance(arguments, Mapping):
        raise InvalidArguments("The arguments must be a JSON object.")
    if is_deeper(arguments, MAX_DEPTH):
        raise TooDeep
    try:
        return json.dumps(arguments, allow_nan=False)
    except TypeError:  # a program's own values: dates, dataclasses, ...
        return json.dumps(pydantic_core.to_jsonable_python(dict(arguments)), allow_nan=False)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object's members (`object_pairs_hook`). Raises `ValueError` if a name is given twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(n for n in names if names.count(n) > 1)[:MAX_NAME]!r} is given twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:MAX_NAME]} is not a number that can be had")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_float=_finite, parse_constant=_finite)


def _decode(text: str | bytes) -> Any:
    return _DECODER.decode(text if isinstance(text, str) else text.decode())


def coerce(value: Any, schema: Any, root: JsonSchema) -> Any:
    """The value with what is unambiguous put right: "42" where only a number can stand, null for what may be left out.

    Returns `value` itself if there is nothing to put right, or more to look at than there is time for.
    """
    try:
        return _coerce(value, schema, root, Steps(_MOST_STEPS))
    except TooManySteps:
        return value


def _coerce(value: Any, schema: Any, root: JsonSchema, steps: Steps) -> Any:
    schema = resolve(schema, root)
    if isinstance(value, dict):
        return _coerce_alternatives(value, branches(schema, "properties", root, steps), root, steps)
    if isinstance(value, list):
        found = branches(schema, "items", root, steps)
        items = [_coerce(item, found[0]["items"], root, steps) for item in value] if len(found) == 1 else value
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    kinds = kinds_of(schema, root, steps)
    if isinstance(value, str) and kinds is not None and "string" not in kinds:
        if value.lower() in {"true", "false"} and "boolean" in kinds:
            return value.lower() == "true"
        if _NUMBER.fullmatch(value) and kinds & {"integer", "number"}:
            number = float(value) if set(value) & set(".eE") else int(value)
            return _coerce(number, schema, root, steps) if math.isfinite(number) else value
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_whole and kinds is not None and "number" not in kinds and "integer" in kinds else value


def _coerce_alternatives(
    value: dict[str, Any], options: list[JsonSchema], root: JsonSchema, steps: Steps
) -> dict[str, Any]:
    """The object as the one schema that it could follow has it, or as all have it that it could follow."""
    fitting = [option for option in options if could_be(value, option, root, steps)]
    made = [_coerce_object(value, option, root, steps) for option in fitting]
    if len(fitting) != 1:
        # 1, 1.0 and true are equal, and not the same.
        return made[0] if made and all(repr(one) == repr(made[0]) for one in made) else value
    (own,), (mended,) = fitting, made
    for other in options:
        if other is not own and mended is not value:
            steps.take(len(mended) + len(own["properties"]))
            mended = keep_apart(mended, own, other, root)
            if could_be(mended, other, root):
                return value
    return mended


def _coerce_object(value: dict[str, Any], schema: JsonSchema, root: JsonSchema, steps: Steps) -> dict[str, Any]:
    required = schema.get("required", ())
    made: dict[str, Any] = {}
    for name, item in value.items():
        wanted = schema["properties"].get(name)
        if wanted is None:
            made[name] = item
            continue
        kinds = kinds_of(wanted, root, steps)
        if item is None and name not in required and kinds is not None and "null" not in kinds:
            continue
        made[name] = _coerce(item, wanted, root, steps)
    is_same = len(made) == len(value) and all(made[name] is value[name] for name in made)
    return value if is_same else made


def problems_of(exc: ValidationError, parsed: Any) -> Iterator[tuple[str, str]]:
    """Each wrong field of a pydantic error, by the path at which the model wrote it, and what is wrong."""
    for error in error_details(exc):
        if error["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
            problem = UNKNOWN
        elif error["type"] in {"missing", "missing_argument", "missing_keyword_only_argument"}:
            problem = "missing"
        else:
            problem = error["msg"].removeprefix("Value error, ")
        yield _path(error["loc"], parsed, is_missing=problem == "missing"), problem


def _path(loc: tuple[int | str, ...], parsed: Any, *, is_missing: bool) -> str:
    """The names among a pydantic location; it also has the tags of the alternatives that it tried."""
    parts: list[str] = []
    for place, part in enumerate(loc):
        if isinstance(parsed, list) and isinstance(part, int) and part < len(parsed):
            parsed = parsed[part]
        elif isinstance(parsed, dict) and part in parsed:
            parsed = parsed[str(part)]
        elif not is_missing or place < len(loc) - 1:
            continue
        parts.append(str(part)[:MAX_NAME])
    return ".".join(parts) or "arguments"


def refusal(problems: Iterable[tuple[str, str]], parameters: JsonSchema) -> InvalidArguments:
    """What the model reads of its wrong arguments: each field, by its name, and the names there are."""
    fields: dict[str, str] = {}
    for path, problem in problems:
        if problem not in fields.get(path, "").split(" or "):
            fields[path] = f"{fields[path]} or {problem}" if path in fields else problem
    told = [f"{path}: {problem}" for path, problem in list(fields.items())[:MAX_PROBLEMS]]
    if len(fields) > MAX_PROBLEMS:
        told.append(f"and {len(fields) - MAX_PROBLEMS} more")
    sentence = "; ".join(told).rstrip(".")
    if any(problem == UNKNOWN and "." not in path for path, problem in fields.items()):
        sentence += f". Known arguments: {', '.join(parameters.get('properties', {})) or 'none'}"
    return InvalidArguments(f"Invalid arguments. {sentence}.", fields)
