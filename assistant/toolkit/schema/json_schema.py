"""The part of JSON Schema that hand-written tools use: what a value may be, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from assistant.toolkit.bounded_json import MAX_DEPTH, is_deeper

JsonSchema = dict[str, Any]
UNKNOWN = "unknown argument"
_OF_SCHEMAS = ("anyOf", "oneOf", "allOf")
_OF_SCHEMAS_BY_NAME = ("properties", "$defs")
_MOST_REFERENCES = 50
# Alternatives of a schema, and of these in turn, that are followed.
MAX_ALTERNATIVES = 300
# A check may take so many steps, and so many more for each value: somebody else's schema must not hold up everybody.
_STEPS, _STEPS_EACH = 2_000, 50
# Steps within each other: each takes up to three frames of the interpreter's 1,000.
_MOST_NESTED_STEPS = 200


class TooManySteps(Exception):
    """A schema goes on without end, or doubles its alternatives until its check would."""


def mistake_in(schema: Any) -> str:
    """What makes this no schema that can be held to; empty if nothing does."""
    if is_deeper(schema):
        return f"the schema is nested more than {MAX_DEPTH} levels deep"
    return _mistake_in(schema, "the schema")


def _mistake_in(schema: Any, where: str) -> str:
    if isinstance(schema, bool):
        return ""
    if not isinstance(schema, dict):
        return f"{where} must be an object"
    kinds = schema.get("type", "object")
    if not isinstance(kinds, str) and not (isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds)):
        return f"the type of {where} must be a name or a list of names"
    for keyword, wanted in (("required", list), ("enum", list), *((name, dict) for name in _OF_SCHEMAS_BY_NAME)):
        if keyword in schema and not isinstance(schema[keyword], wanted):
            return f"{keyword} of {where} must be {'a list' if wanted is list else 'an object'}"
    if not all(isinstance(name, str) for name in schema.get("required", ())):
        return f"required of {where} must be a list of names"
    for keyword in _OF_SCHEMAS:
        if keyword in schema and (not isinstance(schema[keyword], list) or not schema[keyword]):
            return f"{keyword} of {where} must be a list of schemas"
    below = {
        f"{k} of {where}": schema[k]
        for k in ("items", "additionalProperties")
        if not isinstance(schema.get(k, []), list)
    }
    below |= {f"{n} in {k}": v for k in _OF_SCHEMAS_BY_NAME for n, v in schema.get(k, {}).items()}
    below |= {f"{k}.{place}": v for k in _OF_SCHEMAS for place, v in enumerate(schema.get(k, ()))}
    return next((found for name, part in below.items() if (found := _mistake_in(part, name))), "")


def resolve(schema: Any, root: JsonSchema) -> JsonSchema:
    """The schema itself, or the one that it refers to within `root`; what cannot be found allows anything."""
    for _ in range(_MOST_REFERENCES):
        if not isinstance(schema, dict):
            return {} if schema is not False else {"enum": []}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = _find(reference, root)
    return {}


def _find(reference: str, root: JsonSchema) -> Any:
    node: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        node = node.get(key) if isinstance(node, dict) else None
    return node


def kind_of(value: Any) -> str:
    """JSON Schema's name for the kind of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"


def kinds_of(schema: Any, root: JsonSchema) -> frozenset[str] | None:
    """The kinds of values that a schema allows; None for any. "number" includes "integer"."""
    return _kinds_of(schema, root, {})


def _kinds_of(schema: Any, root: JsonSchema, seen: dict[int, Any]) -> frozenset[str] | None:
    schema = resolve(schema, root)
    seen[id(schema)] = schema
    if len(seen) > MAX_ALTERNATIVES:
        return None
    declared = schema.get("type")
    if isinstance(declared, str | list):
        return frozenset([declared] if isinstance(declared, str) else declared)
    if "const" in schema or isinstance(schema.get("enum"), list):
        return frozenset(kind_of(value) for value in schema.get("enum", [schema.get("const")]))
    options = schema.get("anyOf") or schema.get("oneOf") or (schema.get("allOf") or [])[:1]
    found: frozenset[str] = frozenset()
    for option in options:
        # One that was met before has been counted.
        if id(resolve(option, root)) not in seen:
            kinds = _kinds_of(option, root, seen)
            if kinds is None:
                return None
            found |= kinds
    return found or None


class _Check:
    """One step of the check of a value: the schema's root, the steps that are left, and how many this one is within."""

    def __init__(self, root: JsonSchema, left: Iterator[int], nested: int = 0) -> None:
        self.root = root
        self._left = left
        self._nested = nested

    @classmethod
    def of(cls, value: Any, root: JsonSchema) -> _Check:
        return cls(root, iter(range(_STEPS + _STEPS_EACH * _size(value))))

    def step(self) -> _Check:
        """The next step, within this one. Raises `TooManySteps`."""
        if self._nested == _MOST_NESTED_STEPS or next(self._left, None) is None:
            raise TooManySteps
        return _Check(self.root, self._left, self._nested + 1)


def _size(value: Any) -> int:
    """How many values a value holds, itself counted."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, items))


def problems(value: Any, schema: Any, root: JsonSchema, path: str = "") -> Iterator[tuple[str, str]]:
    """What is wrong with a value: the path of each wrong field and a sentence. Unknown keywords are passed over.

    Raises:
        TooManySteps: the schema goes on without end, or doubles its alternatives until the check would.
    """
    return _problems(value, schema, _Check.of(value, root), path)


def holds_to(value: Any, schema: JsonSchema) -> bool:
    """Whether a value fits a schema; what cannot be checked does not."""
    try:
        return not any(problems(value, schema, schema))
    except (TooManySteps, TypeError, AttributeError):  # such as a reference to what is no schema
        return False


def _problems(value: Any, schema: Any, check: _Check, path: str) -> Iterator[tuple[str, str]]:
    check = check.step()
    schema = resolve(schema, check.root)
    where = path or "arguments"
    kind = kind_of(value)
    allowed = kinds_of({"type": schema["type"]}, check.root) if "type" in schema else None
    if allowed is not None and kind not in allowed and not (kind == "integer" and "number" in allowed):
        yield where, f"must be of type {' or '.join(sorted(allowed))}"
        return
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield where, f"must be one of {', '.join(map(repr, schema['enum']))[:500]}"
    if "const" in schema and not _same(value, schema["const"]):
        yield where, f"must be {schema['const']!r}"
    yield from _combined(value, schema, check, path)
    if kind == "object":
        yield from _of_object(value, schema, check, path)
    elif kind == "array":
        yield from _of_array(value, schema, check, path)
    elif kind == "string":
        yield from _of_string(value, schema, where)
    elif kind in {"integer", "number"}:
        yield from _of_number(value, schema, where)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _combined(value: Any, schema: JsonSchema, check: _Check, path: str) -> Iterator[tuple[str, str]]:
    for part in schema.get("allOf", ()):
        yield from _problems(value, part, check, path)
    for keyword in ("anyOf", "oneOf"):
        found = [list(_problems(value, option, check, path)) for option in schema.get(keyword, ())]
        if found and all(found):
            yield from min(found, key=len)


def _of_object(value: Mapping[str, Any], schema: JsonSchema, check: _Check, path: str) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}" if path else name, "missing"
    for name, item in value.items():
        below = f"{path}.{name[:80]}" if path else name[:80]
        if name in properties:
            yield from _problems(item, properties[name], check, below)
        elif others is False and "patternProperties" not in schema:
            yield below, UNKNOWN
        elif isinstance(others, dict):
            yield from _problems(item, others, check, below)


def _of_array(value: list[Any], schema: JsonSchema, check: _Check, path: str) -> Iterator[tuple[str, str]]:
    yield from _within(len(value), schema.get("minItems"), schema.get("maxItems"), path or "arguments", "items")
    if isinstance(schema.get("items"), dict):
        for place, item in enumerate(value):
            yield from _problems(item, schema["items"], check, f"{path}.{place}" if path else str(place))


def _of_string(value: str, schema: JsonSchema, where: str) -> Iterator[tuple[str, str]]:
    yield from _within(len(value), schema.get("minLength"), schema.get("maxLength"), where, "characters")
    if "pattern" in schema:
        validator = _pattern(str(schema["pattern"]))
        try:
            if validator is not None:
                validator.validate_python(value)
        except ValidationError:
            yield where, f"must match {schema['pattern']!r}"


def _of_number(value: float, schema: JsonSchema, where: str) -> Iterator[tuple[str, str]]:
    yield from _within(value, schema.get("minimum"), schema.get("maximum"), where, "")
    low, high = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and _is_number(low) and value <= low:
        yield where, f"must be greater than {low}"
    if high is not None and _is_number(high) and value >= high:
        yield where, f"must be less than {high}"


def _within(size: float, low: Any, high: Any, where: str, unit: str) -> Iterator[tuple[str, str]]:
    if _is_number(low) and size < low:
        yield where, f"must be at least {low} {unit}".rstrip()
    if _is_number(high) and size > high:
        yield where, f"must be at most {high} {unit}".rstrip()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@lru_cache(maxsize=512)
def _pattern(pattern: str) -> SchemaValidator | None:
    """A matcher that takes linear time, whoever wrote the pattern; None for patterns that it does not know."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None
