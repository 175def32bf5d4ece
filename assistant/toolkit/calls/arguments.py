"""Parses a model's arguments and corrects unambiguous type errors."""

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
from assistant.toolkit.schema.alternatives import add_distinguishing_defaults, branches, may_match
from assistant.toolkit.schema.error_sentences import UNKNOWN
from assistant.toolkit.schema.json_schema import JsonSchema, Steps, TooManySteps, kinds_of, resolve
from assistant.toolkit.validation_errors import error_details

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 64
# Problems listed in one message to the model, and characters shown of a name that it invented.
MAX_PROBLEMS = 10
MAX_NAME = 80
# Schemas and properties examined to correct arguments; arguments that need more are left unchanged.
_MAX_STEPS = 20_000
# Digits of a whole number that a double can hold.
_SURE_DIGITS = 300
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call, as JSON text and parsed."""

    text: str
    parsed: dict[str, Any]


def parse_arguments(arguments: str | bytes | Mapping[str, Any] | None) -> Arguments:
    """Read a model's arguments; "" and null are an empty object, and one that was encoded twice is decoded.

    Raises:
        InvalidArguments: not JSON, not an object, a duplicate name, NaN or infinity, too long, or nested too deeply.
    """
    try:
        text = decoded_once(_text(arguments))
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
    if "\\u0000" in text:
        # Databases do not store NUL, and no argument needs it.
        parsed = _without_nul(parsed)
        text = json.dumps(parsed)
    return Arguments(text, parsed)


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, list):
        return [_without_nul(item) for item in value]
    return {_without_nul(key): _without_nul(item) for key, item in value.items()} if isinstance(value, dict) else value


def decoded_once(text: str) -> str:
    """Return arguments as they are, but an object that a model has encoded twice, as a JSON text, decoded once."""
    if not text.lstrip(" \t\n\r").startswith('"') or len(text) > MAX_CHARACTERS:
        return text
    try:
        inner = load_json(text)
        return inner if isinstance(load_json(inner), dict) else text
    except ValueError:
        return text


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
    except TypeError:  # a Python caller can pass dates, dataclasses, ...
        return json.dumps(pydantic_core.to_jsonable_python(dict(arguments)), allow_nan=False)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object from its members, as an `object_pairs_hook`. Raises `ValueError` if a name occurs twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(n for n in names if names.count(n) > 1)[:MAX_NAME]!r} occurs twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:MAX_NAME]} is not a finite number")
    return number


def _whole(text: str) -> int:
    if len(text) > _SURE_DIGITS:
        _finite(text)
    return int(text)


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_float=_finite, parse_int=_whole, parse_constant=_finite)


def _decode(text: str | bytes) -> Any:
    return _DECODER.decode(text if isinstance(text, str) else text.decode())


def coerce(value: Any, schema: Any, root: JsonSchema) -> Any:
    """Correct unambiguous errors: "42" where only a number is allowed, null for an optional property.

    Returns `value` itself if there is nothing to correct, or if examining it would take too many steps.
    """
    try:
        return _coerce(value, schema, root, Steps(_MAX_STEPS))
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
    """Coerce an object by the one alternative that it may match, or by several if they give the same result."""
    matching = [option for option in options if may_match(value, option, root, steps)]
    coerced = [_coerce_object(value, option, root, steps) for option in matching]
    if len(matching) != 1:
        # 1 == 1.0 == True in Python, so compare the representations.
        return coerced[0] if coerced and all(repr(one) == repr(coerced[0]) for one in coerced) else value
    (own,), (corrected,) = matching, coerced
    for other in options:
        if other is not own and corrected is not value:
            steps.take(len(corrected) + len(own["properties"]))
            corrected = add_distinguishing_defaults(corrected, own, other, root)
            if may_match(corrected, other, root):
                return value
    return corrected


def _coerce_object(value: dict[str, Any], schema: JsonSchema, root: JsonSchema, steps: Steps) -> dict[str, Any]:
    required = schema.get("required", ())
    coerced: dict[str, Any] = {}
    for name, item in value.items():
        wanted_schema = schema["properties"].get(name)
        if wanted_schema is None:
            coerced[name] = item
            continue
        kinds = kinds_of(wanted_schema, root, steps)
        if item is None and name not in required and kinds is not None and "null" not in kinds:
            continue
        coerced[name] = _coerce(item, wanted_schema, root, steps)
    is_same = len(coerced) == len(value) and all(coerced[name] is value[name] for name in coerced)
    return value if is_same else coerced


def problems_of(exc: ValidationError, parsed: Any) -> Iterator[tuple[str, str]]:
    """Yield the path and the problem of each invalid field in a pydantic error.

    Args:
        parsed: the arguments as the model sent them; the paths refer to these.
    """
    for error in error_details(exc):
        if error["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
            problem = UNKNOWN
        elif error["type"] in {"missing", "missing_argument", "missing_keyword_only_argument"}:
            problem = "missing"
        else:
            problem = error["msg"].removeprefix("Value error, ")
        yield _path(error["loc"], parsed, is_missing=problem == "missing"), problem


def _path(loc: tuple[int | str, ...], parsed: Any, *, is_missing: bool) -> str:
    """Return a pydantic location as a dotted path, without the tags that pydantic adds for members of unions.

    Args:
        parsed: the arguments; only names and indexes that occur in them are kept.
        is_missing: the last name of the location is a missing property, so it does not occur.
    """
    parts: list[str] = []
    for position, part in enumerate(loc):
        if isinstance(parsed, list) and isinstance(part, int) and part < len(parsed):
            parsed = parsed[part]
        elif isinstance(parsed, dict) and part in parsed:
            parsed = parsed[str(part)]
        elif not is_missing or position < len(loc) - 1:
            continue
        parts.append(str(part)[:MAX_NAME])
    return ".".join(parts) or "arguments"


def invalid_arguments(problems: Iterable[tuple[str, str]], parameters: JsonSchema) -> InvalidArguments:
    """Return an error for the model that lists each invalid field and, for unknown names, the known ones."""
    fields: dict[str, str] = {}
    for path, problem in problems:
        if problem not in fields.get(path, "").split(" or "):
            fields[path] = f"{fields[path]} or {problem}" if path in fields else problem
    lines = [f"{path}: {problem}" for path, problem in list(fields.items())[:MAX_PROBLEMS]]
    if len(fields) > MAX_PROBLEMS:
        lines.append(f"and {len(fields) - MAX_PROBLEMS} more")
    sentence = "; ".join(lines).rstrip(".")
    if any(problem == UNKNOWN and "." not in path for path, problem in fields.items()):
        sentence += f". Known arguments: {', '.join(parameters.get('properties', {})) or 'none'}"
    return InvalidArguments(f"Invalid arguments. {sentence}.", fields)
