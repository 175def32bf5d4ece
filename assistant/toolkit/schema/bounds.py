"""Limits for untrusted JSON Schemas, and estimates of what checking a value can cost.

The engine (see `check`) matches patterns in linear time, but alternatives that refer to the same definition several
times double its work on every level, and deep nesting can overflow the stack. Both are bounded here, before the engine
gets the schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

from assistant.toolkit.bounded_json import is_deeper
from assistant.toolkit.schema.json_size import size_within
from assistant.toolkit.schema.pattern_states import states_of

JsonSchema = dict[str, Any]

MAX_BYTES = 64_000
MAX_NODES = 5_000
MAX_DEPTH = 64
MAX_REFERENCES = 500
MAX_PATTERNS = 64
MAX_PATTERN_CHARACTERS = 1_000
# Of all patterns together, with repeats expanded: `\d{4}-\d{2}` has 7 states.
MAX_STATES = 2_000
# Schemas that one value is checked against, and how deep they can be nested.
MAX_CHECKS = 2_000
MAX_NESTED_CHECKS = 32
ENTRIES_PER_CHECK = 8
# Nesting of definitions, with references followed.
MAX_LEVELS = 150

DIALECTS = frozenset(
    {
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)
# Keywords whose schemas apply to the same value, and those whose schemas apply to a part of it.
SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
PARTS = (
    "items",
    "prefixItems",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "patternProperties",
)
BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
# Keywords with plain values, which contain no schemas.
LITERALS = frozenset({"const", "enum", "default", "examples"})
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")


class InvalidSchema(ValueError):
    """The schema is invalid or beyond the limits; the message continues a sentence: "it must be an object"."""


class Cost(NamedTuple):
    """The cost of checking one value.

    Attributes:
        checks: schemas that one value is checked against, including the entries of enumerations.
        states: states of their patterns.
        nested: nesting depth of the schemas.
        loops: number of recursive references.
    """

    checks: int = 0
    states: int = 0
    nested: int = 0
    loops: int = 0

    def plus(self, other: Cost) -> Cost:
        """Return the cost of both checks."""
        return Cost(
            self.checks + other.checks,
            self.states + other.states,
            max(self.nested, other.nested),
            self.loops + other.loops,
        )

    def maximum(self, other: Cost) -> Cost:
        """Return the larger of both costs, field by field."""
        return Cost(*map(max, self, other))


_NO_COST = Cost()


def cost_of(schema: Any) -> Cost:
    """Estimate the cost of checking a value. Raises `InvalidSchema` if the schema is beyond the limits."""
    if not isinstance(schema, dict):
        raise InvalidSchema("it must be an object")
    try:
        check_size(schema)
        return _CostEstimate(schema).cost
    except RecursionError:
        raise InvalidSchema("it is nested too deeply") from None


def check_size(schema: JsonSchema) -> None:
    """Raise `InvalidSchema` for a schema with too many bytes, values or levels."""
    if size_within(schema, MAX_NODES, MAX_BYTES) is None:
        raise InvalidSchema(f"it has more than {MAX_NODES} values or {MAX_BYTES} bytes")
    if is_deeper(schema, MAX_DEPTH):
        raise InvalidSchema(f"it is nested more than {MAX_DEPTH} levels deep")
    try:
        size = len(json.dumps(schema, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as exc:
        raise InvalidSchema(f"it is not JSON: {str(exc)[:100]}") from None
    if size > MAX_BYTES:
        raise InvalidSchema(f"it has {size} bytes, and may have {MAX_BYTES}")


@dataclass(slots=True)
class _CostEstimate:
    """One traversal of a schema that follows references and computes each definition once."""

    root: JsonSchema
    cost: Cost = _NO_COST
    references: int = 0
    patterns: dict[str, int] = field(default_factory=dict)
    _known: dict[int, Cost] = field(default_factory=dict)
    # The schemas being traversed, and whether each applies to the same value as the one that contains it.
    _open: dict[int, bool] = field(default_factory=dict)
    _anchors: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if str(self.root.get("$schema", next(iter(DIALECTS)))).rstrip("#") not in DIALECTS:
            raise InvalidSchema("its $schema is none of draft 6, draft 7, 2019-09 and 2020-12")
        self._collect(self.root, is_root=True)
        self.cost = self._cost(self.root, is_same_value=False)

    def _collect(self, node: Any, *, is_root: bool = False) -> None:
        """Check each schema by itself and collect anchors and patterns."""
        if not isinstance(node, dict):
            return
        if not is_root and isinstance(node.get("$id"), str):
            raise InvalidSchema("only its top level may have an $id")
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(keyword), str):
                self._anchors.setdefault(node[keyword], []).append(node)
        self._count_references(sum(keyword in node for keyword in REFERENCES))
        for pattern in _patterns(node):
            self._add_pattern(pattern)
        for schema in _subschemas(node):
            self._collect(schema)

    def _count_references(self, times: int) -> None:
        self.references += times
        if self.references > MAX_REFERENCES:
            raise InvalidSchema(f"it has more than {MAX_REFERENCES} references")

    def _add_pattern(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN_CHARACTERS:
            raise InvalidSchema(f"a pattern in it has more than {MAX_PATTERN_CHARACTERS} characters")
        if pattern in self.patterns:
            return
        self.patterns[pattern] = states_of(pattern)
        if len(self.patterns) > MAX_PATTERNS:
            raise InvalidSchema(f"it has more than {MAX_PATTERNS} patterns")
        if sum(self.patterns.values()) > MAX_STATES:
            raise InvalidSchema(f"its patterns have more than {MAX_STATES} states, with repeats expanded")

    def _cost(self, node: Any, *, is_same_value: bool) -> Cost:
        if not isinstance(node, dict):
            return Cost(checks=1, nested=1)
        key = id(node)
        if key in self._open:
            return self._cost_of_loop(key, is_same_value)
        if key not in self._known:
            if len(self._open) > MAX_LEVELS:
                raise InvalidSchema(f"its definitions are nested more than {MAX_LEVELS} levels deep")
            self._open[key] = is_same_value
            self._known[key] = cost = self._cost_of_schema(node)
            del self._open[key]
            if cost.checks > MAX_CHECKS:
                raise InvalidSchema(f"one value would have to be checked more than {MAX_CHECKS} times")
            if cost.nested > MAX_NESTED_CHECKS:
                raise InvalidSchema(f"its alternatives are nested more than {MAX_NESTED_CHECKS} levels deep")
        return self._known[key]

    def _cost_of_loop(self, key: int, is_same_value: bool) -> Cost:
        """Return the cost of a recursive reference, as in schemas of trees."""
        after = list(self._open)[list(self._open).index(key) + 1 :]
        if is_same_value and all(self._open[one] for one in after):
            raise InvalidSchema("it refers to itself without a step into the value")
        return Cost(checks=1, nested=1, loops=1)

    def _cost_of_schema(self, node: JsonSchema) -> Cost:
        # The engine compares about `ENTRIES_PER_CHECK` entries of an enumeration in the time of one check.
        size = 1 + sum(_entries(node.get(keyword)) for keyword in ("enum", "const", "required")) // ENTRIES_PER_CHECK
        states = sum(self.patterns.get(pattern, 0) for pattern in _patterns(node))
        same, below = Cost(checks=size, states=states), _NO_COST
        for schema in (*_schemas_in(node, SAME_VALUE), *self._targets(node)):
            same = same.plus(self._cost(schema, is_same_value=True))
        for schema in _schemas_in(node, ("properties",)):
            # Each property has its own schema, so only the most expensive one counts.
            below = below.maximum(self._cost(schema, is_same_value=False))
        for schema in _schemas_in(node, PARTS):
            below = below.plus(self._cost(schema, is_same_value=False))
        if any(keyword in node for keyword in _UNEVALUATED):
            # For each of these keywords the engine checks all alternatives again.
            same = same._replace(checks=same.checks * (1 + same.checks // 8))
        return Cost(same.checks + below.checks, same.states + below.states, same.nested + 1, same.loops + below.loops)

    def _targets(self, node: JsonSchema) -> Iterator[Any]:
        for keyword in REFERENCES:
            if keyword in node:
                yield from self._target(node[keyword], keyword)

    def _target(self, reference: Any, keyword: str) -> list[Any]:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise InvalidSchema(f"{keyword} {str(reference)[:80]!r} leads outside the schema, which is not supported")
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            found = self._anchors.get(fragment, [])
            self._count_references(len(found) - 1)
        else:
            found = [target] if (target := follow(fragment, self.root)) is not None else []
        if not found:
            raise InvalidSchema(f"{keyword} {reference[:80]!r} cannot be resolved")
        return found


def follow(pointer: str, root: JsonSchema) -> Any:
    """Resolve a JSON pointer within a schema; None if it does not exist."""
    node: Any = root
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            node = node[int(key)] if key.isascii() and key.isdigit() and int(key) < len(node) else None
        else:
            node = node.get(key) if isinstance(node, dict) else None
    return node


def _schemas_in(node: JsonSchema, keywords: tuple[str, ...]) -> Iterator[Any]:
    """Yield the schemas in these keywords of a schema."""
    for keyword in keywords:
        value = node.get(keyword)
        if isinstance(value, dict) and keyword in BY_NAME:
            yield from (one for one in value.values() if isinstance(one, dict | bool))
        elif isinstance(value, dict | bool):
            yield value
        elif isinstance(value, list):
            yield from value


def _subschemas(node: JsonSchema) -> Iterator[Any]:
    """Yield all subschemas, also those in unknown keywords, which references can target."""
    for keyword, value in node.items():
        if keyword in LITERALS:
            continue
        if keyword in BY_NAME and isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from value


def _patterns(node: JsonSchema) -> Iterator[str]:
    if isinstance(node.get("pattern"), str):
        yield node["pattern"]
    if isinstance(node.get("patternProperties"), dict):
        yield from node["patternProperties"]


def _entries(value: Any) -> int:
    """Count the values within a value, nested ones included."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(1 + _entries(item) for item in items)
