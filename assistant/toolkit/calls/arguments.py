"""Parses a model's arguments and corrects unambiguous type errors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import pydantic_core
from pydantic import ValidationError

from assistant.toolkit.bounded_json import TooDeep, is_deeper, load_json
from assistant.toolkit.errors import InvalidArguments
from assistant.toolkit.schema.alternatives import (
    add_distinguishing_defaults,
    branches,
    may_match,
    object_branches,
    schemas_for,
)
from assistant.toolkit.schema.decimals import exact_decimals, number_with_digits
from assistant.toolkit.schema.error_sentences import UNKNOWN
from assistant.toolkit.schema.exact_types import DATE_FORM, DATETIME_FORM, ZONED_FORM
from assistant.toolkit.schema.json_schema import (
    JsonSchema,
    Steps,
    TooManySteps,
    allows_kind,
    kind_of,
    kinds_of,
    resolve,
)
from assistant.toolkit.validation_errors import error_details

T = TypeVar("T")

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 64
# Problems listed in one message to the model, and characters shown of a name that it invented.
MAX_PROBLEMS = 10
# What a sentence about arguments begins with.
INVALID = "Invalid arguments"
MAX_NAME = 80
# Schemas and properties examined to correct arguments; arguments that need more are left unchanged.
_MAX_STEPS = 20_000
# Digits of a whole number that a double can hold.
_SURE_DIGITS = 300
_BLANKS, _OPENING = " \t\n\r", ("[", "{")
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
        text = arguments if isinstance(arguments, str) else _text(arguments)
        if text.lstrip(_BLANKS)[:1] == '"':
            text = decoded_once(text)
        if len(text) > MAX_CHARACTERS:
            raise InvalidArguments(f"The arguments are longer than {MAX_CHARACTERS} characters.")
        parsed = load_json(text, max_depth=MAX_DEPTH, loads=_DECODER.decode) if text.strip() else None
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


def _text(arguments: bytes | Mapping[str, Any] | None) -> str:
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


def coerce(value: Any, schema: Any, root: JsonSchema, *, parse_float: Callable[[str], float] = _finite) -> Any:
    """Correct unambiguous errors: "42" where only a number is allowed, null for an optional property.

    An object or array that was sent as JSON text is decoded where nothing else is allowed, at any depth.

    Args:
        parse_float: makes the numbers of such texts.

    Returns:
        `value` itself if there is nothing to correct, or if examining it would take too many steps or levels.
    """
    try:
        corrected = _coerce(value, schema, root, _Correction(_MAX_STEPS, parse_float))
    except TooManySteps:
        return value
    return value if corrected is not value and is_deeper(corrected, MAX_DEPTH) else corrected


def corrected_arguments(parsed: dict[str, Any], schema: JsonSchema, decimals: JsonSchema | None) -> dict[str, Any]:
    """Return `coerce` of arguments, with all digits of decimals; `parsed` itself if there is nothing to correct.

    Args:
        decimals: the schema with decimals marked, if it has any.
    """
    if decimals is None:
        return cast(dict[str, Any], coerce(parsed, schema, schema))
    corrected: dict[str, Any] = coerce(parsed, schema, schema, parse_float=_with_digits)
    return corrected if corrected is parsed else exact_decimals(corrected, decimals)


def _with_digits(text: str) -> float:
    _finite(text)
    return number_with_digits(text)


class _Correction(Steps):
    """The steps that are left for correcting one value, and how numbers are read."""

    def __init__(self, left: int, parse_float: Callable[[str], float]) -> None:
        super().__init__(left)
        self._decoder = json.JSONDecoder(
            object_pairs_hook=unique, parse_float=parse_float, parse_int=_whole, parse_constant=_finite
        )

    def decoded(self, text: str) -> Any:
        """Return the value of a JSON text; None if it is none. One step is taken for each of its values."""
        # Each value but the last is followed by a comma or a closing bracket.
        self.take(1 + sum(map(text.count, ",]}")))
        try:
            return load_json(text, max_depth=MAX_DEPTH, loads=self._decoder.decode)
        except (ValueError, RecursionError):
            return None


def _coerce(value: Any, schema: Any, root: JsonSchema, steps: _Correction) -> Any:
    schema = resolve(schema, root)
    if isinstance(value, dict):
        options = object_branches(schema, root, steps)
        return _coerce_alternatives(value, options, root, steps) if options else value
    if isinstance(value, list):
        return _coerce_items(value, schema, root, steps)
    if isinstance(value, str) and value.lstrip(_BLANKS)[:1] in _OPENING:
        meant = kinds_of(schema, root, steps, is_implied=True)
        if meant is not None and "string" not in meant and meant & {"array", "object"}:
            decoded = steps.decoded(value)
            is_meant = isinstance(decoded, dict | list) and kind_of(decoded) in meant
            return _coerce(decoded, schema, root, steps) if is_meant else value
    kinds = kinds_of(schema, root, steps)
    if isinstance(value, str) and kinds is not None and "string" not in kinds:
        if value.lower() in {"true", "false"} and "boolean" in kinds:
            return value.lower() == "true"
        if _NUMBER.fullmatch(value) and kinds & {"integer", "number"}:
            number = float(value) if set(value) & set(".eE") else int(value)
            return _coerce(number, schema, root, steps) if math.isfinite(number) else value
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_whole and kinds is not None and "number" not in kinds and "integer" in kinds else value


def _coerce_items(value: list[Any], schema: JsonSchema, root: JsonSchema, steps: _Correction) -> list[Any]:
    options = branches(schema, "prefixItems", root, steps)
    known = set(map(id, options))
    options += [one for one in branches(schema, "items", root, steps) if id(one) not in known]
    coerced = [_coerce_items_by(value, option, root, steps) for option in options]
    fitting = _fitting(value, options, coerced, lambda item, option: _fits_items(item, option, root, steps))
    return _common(value, [result for _, result in fitting])


def _coerce_items_by(value: list[Any], schema: JsonSchema, root: JsonSchema, steps: _Correction) -> list[Any]:
    items = [_coerce(item, one, root, steps) for item, one in zip(value, _item_schemas(value, schema), strict=True)]
    return items if any(new is not old for new, old in zip(items, value, strict=True)) else value


def _item_schemas(value: list[Any], schema: JsonSchema) -> list[Any]:
    first = schema.get("prefixItems", [])
    rest = schema.get("items", {})
    return [first[place] if place < len(first) else rest for place in range(len(value))]


def _fits_items(value: list[Any], schema: JsonSchema, root: JsonSchema, steps: _Correction) -> bool:
    return all(
        allows_kind(item, kinds_of(one, root, steps))
        for item, one in zip(value, _item_schemas(value, schema), strict=True)
    )


def _fitting(
    value: T, options: list[JsonSchema], coerced: list[T], fits: Callable[[T, JsonSchema], bool]
) -> list[tuple[JsonSchema, T]]:
    """Return the alternatives whose values are of the right types as they were sent; else once they are corrected.

    Args:
        coerced: `value` as each of the alternatives corrects it.
    """
    pairs = list(zip(options, coerced, strict=True))
    if len(pairs) < 2:
        return pairs
    as_sent = [pair for pair in pairs if fits(value, pair[0])]
    return as_sent or [pair for pair in pairs if fits(pair[1], pair[0])] or pairs


def _common(value: T, coerced: list[T]) -> T:
    """Return what several alternatives agree on; `value` if that is nothing."""
    # 1 == 1.0 == True in Python, so compare the representations.
    return coerced[0] if coerced and all(repr(one) == repr(coerced[0]) for one in coerced) else value


def _coerce_alternatives(
    value: dict[str, Any], options: list[JsonSchema], root: JsonSchema, steps: _Correction
) -> dict[str, Any]:
    """Coerce an object by the one alternative that it may match, or by several if they give the same result."""
    possible = [option for option in options if may_match(value, option, root, steps, is_raw=True)]
    coerced = [_coerce_object(value, option, root, steps) for option in possible]
    matching = _fitting(value, possible, coerced, lambda item, option: _fits_object(item, option, root, steps))
    if len(matching) != 1:
        return _common(value, [result for _, result in matching])
    ((own, corrected),) = matching
    for other in options:
        if other is not own and corrected is not value:
            steps.take(len(corrected) + len(own.get("properties", ())))
            corrected = add_distinguishing_defaults(corrected, own, other, root)
            if may_match(corrected, other, root) and _fits_object(corrected, other, root, steps):
                return value
    return corrected


def _fits_object(value: dict[str, Any], schema: JsonSchema, root: JsonSchema, steps: _Correction) -> bool:
    return all(
        item is None or allows_kind(item, kinds_of(one, root, steps))
        for name, item in value.items()
        for one in schemas_for(name, schema)
    )


def _coerce_object(value: dict[str, Any], schema: JsonSchema, root: JsonSchema, steps: _Correction) -> dict[str, Any]:
    required = schema.get("required", ())
    coerced: dict[str, Any] = {}
    for name, item in value.items():
        if name not in schema.get("properties", {}):
            coerced[name] = _common(item, [_coerce(item, one, root, steps) for one in schemas_for(name, schema)])
            continue
        wanted_schema = schema["properties"][name]
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
            problem = error["msg"].removeprefix("Value error, ") + form_of_error(error["type"])
        yield _path(error["loc"], parsed, is_missing=problem == "missing"), problem


# By the beginning of pydantic's types of errors; the longest that fits comes first.
_FORMS = {
    "timezone_aware": ZONED_FORM,
    "datetime_": DATETIME_FORM,
    "date_": DATE_FORM,
    "time_delta_": '"PT1H30M"',
    "time_": '"10:30:00"',
}


def form_of_error(kind: str) -> str:
    """Return the right form for what pydantic's error of this type is about; empty if the error says enough."""
    form = next((form for beginning, form in _FORMS.items() if kind.startswith(beginning)), None)
    return "" if form is None or kind.endswith(("_past", "_future")) else f"; write it as {form}"


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
    return InvalidArguments(f"{INVALID}. {sentence}.", fields)
