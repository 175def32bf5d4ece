"""Whether a JSON value fits a JSON Schema that somebody else wrote, in a time that is known beforehand.

The engine is `jsonschema-rs` with its linear regular expressions and a retriever that loads nothing. It holds the
interpreter's lock, so `Checker` is asked only for what is cheap enough to be done on the event loop; what costs more
goes to a process of its own (`tools.schema_process`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from tools.json_size import depth_is_within, size_within
from tools.schema_bounds import BY_NAME, LITERALS, Cost, InvalidSchema, JsonSchema, check_size, cost_of
from tools.schema_sentences import UNDESCRIBED, UNKNOWN, Problem, sentences_of

# What a value may have, and its check may cost, to be made on the loop: about 30 ms.
MAX_VALUES = 40_000
MAX_CHARACTERS = 2_000_000
MAX_CHECKS = 500_000
MAX_STATES = 2_000_000
# Levels of a value: the engine's stack is the process's.
MAX_VALUE_DEPTH = 100
# What it may cost to describe each problem, with all alternatives that were tried: about 30 ms.
MAX_DESCRIBED_CHECKS = 4_000
MAX_PROBLEMS = 100
# Bytes of one compiled pattern, which is too small for none within the bounds.
_SIZE_LIMIT = 4 * 1024 * 1024
_KEPT = 64


class TooCostly(Exception):
    """The value is too large to be checked by this schema on the event loop."""


class Checker:
    """A compiled schema. Raises `InvalidSchema` if it is beyond the bounds, or no schema."""

    def __init__(self, schema: JsonSchema) -> None:
        self.cost = cost_of(schema)
        try:
            self.prepared: JsonSchema = _prepared(schema)
            self._validator = _compile(self.prepared)
        except (ValueError, RecursionError) as exc:
            raise InvalidSchema(_reason(exc)) from None

    def fits(self, value: Any) -> bool:
        """Whether a JSON value fits. Raises `TooCostly`."""
        if not may_be_checked(value, self.cost):
            raise TooCostly
        try:
            return self._validator.is_valid(value)
        except (ValueError, RecursionError):  # half a character, or deeper than the engine goes
            return False

    def problems(self, value: Any) -> list[Problem]:
        """What is wrong with a value: the path of each wrong field and a sentence. Raises `TooCostly`."""
        if self.fits(value):
            return []
        if not self._may_be_described(value):
            return [("arguments", UNDESCRIBED)]
        try:
            return list(islice(sentences_of(self._validator.iter_errors(value)), MAX_PROBLEMS))
        except ValueError:
            return [("arguments", "hold what is not JSON")]

    def _may_be_described(self, value: Any) -> bool:
        """The engine describes every alternative that it tried, and those within it; several loops double them."""
        most = MAX_DESCRIBED_CHECKS // max(1, self.cost.checks)
        return self.cost.loops <= 1 and size_within(value, most, MAX_CHARACTERS) is not None


def may_be_checked(value: Any, cost: Cost) -> bool:
    """Whether checking a value by a schema of this cost is cheap enough for the event loop."""
    values = min(MAX_VALUES, MAX_CHECKS // max(1, cost.checks))
    characters = min(MAX_CHARACTERS, MAX_STATES // max(1, cost.states))
    return size_within(value, values, characters) is not None and depth_is_within(value, MAX_VALUE_DEPTH)


def checker_of(schema: JsonSchema) -> Checker:
    """The schema's checker; those that were used last are kept. Raises `InvalidSchema`."""
    check_size(schema)
    try:
        return _checker(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as exc:
        raise exc if isinstance(exc, InvalidSchema) else InvalidSchema(f"it is not JSON: {str(exc)[:100]}") from None


def fits_on_loop(value: Any, schema: JsonSchema) -> bool:
    """Whether a value fits a schema; what is too costly to be checked on the event loop does not."""
    try:
        return checker_of(schema).fits(value)
    except (TooCostly, InvalidSchema):
        return False


def unknown_names(value: Any, schema: JsonSchema) -> list[Problem]:
    """The names in a value that its schema refuses; where they cannot be found, a problem that says so."""
    try:
        found = checker_of(schema).problems(value)
    except (TooCostly, InvalidSchema):
        return [("arguments", UNDESCRIBED)]
    return [problem for problem in found if problem[1] in {UNKNOWN, UNDESCRIBED}]


@lru_cache(maxsize=_KEPT)
def _checker(text: str) -> Checker:
    return Checker(json.loads(text))


def mistake_in(schema: Any) -> str:
    """Why a value cannot be held to this schema, as the rest of a sentence; empty if it can."""
    try:
        checker_of(schema) if isinstance(schema, dict) else cost_of(schema)
    except InvalidSchema as exc:
        return str(exc)
    return ""


def _refuse(uri: str) -> NoReturn:
    raise ValueError("nothing outside the schema is loaded")


def _compile(schema: JsonSchema) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema,
        retriever=_refuse,
        validate_formats=False,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=_SIZE_LIMIT),
    )


def _reason(exc: Exception) -> str:
    if not isinstance(exc, jsonschema_rs.ValidationError):
        return f"it cannot be compiled: {str(exc)[:100]}"
    place = "/".join(map(str, exc.instance_path))
    return f"{place[:100] + ': ' if place else ''}{exc.message[:200]}"


def _prepared(node: Any) -> Any:
    """The schema as the engine takes it: without patterns that a linear engine does not know.

    Many servers send a pattern that looks ahead beside `format: email`. What has one is held to the rest of its schema.
    """
    if isinstance(node, list):
        return [_prepared(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = dict(_parts(node))
    if isinstance(made.get("pattern"), str) and not _is_known(made["pattern"]):
        del made["pattern"]
    by_pattern = made.get("patternProperties")
    if isinstance(by_pattern, dict) and not all(map(_is_known, by_pattern)):
        for keyword in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
            made.pop(keyword, None)
    if made.get("additionalProperties") is False:
        made.setdefault("properties", {})  # the engine does not name what it refuses otherwise
    return made


def _parts(node: JsonSchema) -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if key in BY_NAME and isinstance(value, dict):
            yield key, {name: _prepared(item) for name, item in value.items()}
        else:
            yield key, value if key in LITERALS else _prepared(value)


@lru_cache(maxsize=512)
def _is_known(pattern: str) -> bool:
    try:
        _compile({"pattern": pattern})
    except ValueError:
        return False
    return True
