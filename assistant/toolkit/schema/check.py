"""Validates JSON values against untrusted JSON Schemas in bounded time.

The engine is `jsonschema-rs` with its linear-time regular expressions and a retriever that loads nothing. It holds the
GIL, so `Checker` accepts only what is cheap enough for the event loop, and refuses more expensive checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from assistant.toolkit.schema.bounds import BY_NAME, LITERALS, Cost, InvalidSchema, JsonSchema, check_size, cost_of
from assistant.toolkit.schema.error_sentences import ROOT, UNDESCRIBED, UNKNOWN, Problem, sentences_of
from assistant.toolkit.schema.json_size import size_within

# Limits of a check on the event loop; a check within them takes up to about 30 ms.
MAX_VALUES = 40_000
MAX_CHARACTERS = 2_000_000
MAX_CHECKS = 500_000
MAX_STATES = 2_000_000
# Limit for describing problems, also up to about 30 ms; every alternative that was tried is described.
MAX_DESCRIBED_CHECKS = 4_000
MAX_PROBLEMS = 100
# Size of one compiled pattern; enough for every pattern within the limits of `bounds`.
_MAX_PATTERN_BYTES = 4 * 1024 * 1024
_MAX_CACHED_CHECKERS = 64


class TooCostly(Exception):
    """The value is too large to be checked by this schema on the event loop."""


class Checker:
    """A compiled schema.

    Raises:
        InvalidSchema: the schema is invalid or beyond the limits.
    """

    def __init__(self, schema: JsonSchema) -> None:
        self.cost = cost_of(schema)
        try:
            self.prepared: JsonSchema = _prepared(schema)
            self._validator = _compile(self.prepared)
        except (ValueError, RecursionError) as exc:
            raise InvalidSchema(_reason(exc)) from None

    def fits(self, value: Any) -> bool:
        """Whether a JSON value matches the schema. Raises `TooCostly`."""
        if not may_be_checked(value, self.cost):
            raise TooCostly
        try:
            return self._validator.is_valid(value)
        except (ValueError, RecursionError):  # a lone surrogate, or too deep for the engine
            return False

    def problems(
        self,
        value: Any,
        describe: Callable[[Iterable[jsonschema_rs.ValidationError]], Iterator[Problem]] = sentences_of,
    ) -> list[Problem]:
        """Return the path and a description, by `describe`, of each invalid field. Raises `TooCostly`."""
        if self.fits(value):
            return []
        if not self._may_be_described(value):
            return [(ROOT, UNDESCRIBED)]
        try:
            return list(islice(describe(self._validator.iter_errors(value)), MAX_PROBLEMS))
        except ValueError:
            return [(ROOT, "contain values that are not JSON, or are nested too deeply")]

    def _may_be_described(self, value: Any) -> bool:
        """Whether describing the problems is cheap.

        The engine describes every alternative on every level; several recursive references double them on each.
        """
        max_values = MAX_DESCRIBED_CHECKS // max(1, self.cost.checks)
        return self.cost.loops <= 1 and size_within(value, max_values, MAX_CHARACTERS) is not None


def may_be_checked(value: Any, cost: Cost) -> bool:
    """Whether a check with a schema of this cost is cheap enough for the event loop."""
    values = min(MAX_VALUES, MAX_CHECKS // max(1, cost.checks))
    characters = min(MAX_CHARACTERS, MAX_STATES // max(1, cost.states))
    return size_within(value, values, characters) is not None


def checker_of(schema: JsonSchema) -> Checker:
    """Return the schema's checker, cached if it was used recently. Raises `InvalidSchema`."""
    check_size(schema)
    try:
        return _checker(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as exc:
        raise exc if isinstance(exc, InvalidSchema) else InvalidSchema(f"it is not JSON: {str(exc)[:100]}") from None


def fits_on_loop(value: Any, schema: JsonSchema) -> bool:
    """Whether a value matches a schema; false if that is too costly to check on the event loop."""
    try:
        return checker_of(schema).fits(value)
    except (TooCostly, InvalidSchema):
        return False


def unknown_names(value: Any, schema: JsonSchema) -> list[Problem]:
    """Return the problem of each property that the schema does not allow; one `UNDESCRIBED` if that is too costly."""
    try:
        found = checker_of(schema).problems(value)
    except (TooCostly, InvalidSchema):
        return [(ROOT, UNDESCRIBED)]
    return [problem for problem in found if problem[1] in {UNKNOWN, UNDESCRIBED}]


@lru_cache(maxsize=_MAX_CACHED_CHECKERS)
def _checker(text: str) -> Checker:
    return Checker(json.loads(text))


def schema_error(schema: Any) -> str:
    """Return why a schema cannot be used, as the message of `InvalidSchema`; empty if it can."""
    try:
        checker_of(schema) if isinstance(schema, dict) else cost_of(schema)
    except InvalidSchema as exc:
        return str(exc)
    return ""


def _refuse(uri: str) -> NoReturn:
    raise ValueError("external references are not loaded")


def _compile(schema: JsonSchema) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema,
        retriever=_refuse,
        validate_formats=False,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=_MAX_PATTERN_BYTES),
    )


def _reason(exc: Exception) -> str:
    if not isinstance(exc, jsonschema_rs.ValidationError):
        return f"it cannot be compiled: {str(exc)[:100]}"
    place = "/".join(map(str, exc.instance_path))
    return f"{place[:100] + ': ' if place else ''}{exc.message[:200]}"


def _prepared(node: Any) -> Any:
    """Return the schema without patterns that a linear-time engine does not support.

    Many servers send a pattern with a look-ahead beside `format: email`; the rest of such a schema still applies.
    """
    if isinstance(node, list):
        return [_prepared(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = dict(_parts(node))
    if isinstance(schema.get("pattern"), str) and not _is_supported_pattern(schema["pattern"]):
        del schema["pattern"]
    by_pattern = schema.get("patternProperties")
    if isinstance(by_pattern, dict) and not all(map(_is_supported_pattern, by_pattern)):
        for keyword in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
            schema.pop(keyword, None)
    if schema.get("additionalProperties") is False:
        schema.setdefault("properties", {})  # without it the engine does not name the unknown properties
    return schema


def _parts(node: JsonSchema) -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if key in BY_NAME and isinstance(value, dict):
            yield key, {name: _prepared(item) for name, item in value.items()}
        else:
            yield key, value if key in LITERALS else _prepared(value)


@lru_cache(maxsize=512)
def _is_supported_pattern(pattern: str) -> bool:
    try:
        _compile({"pattern": pattern})
    except ValueError:
        return False
    return True
