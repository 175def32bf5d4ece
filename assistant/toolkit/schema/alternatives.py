"""Alternatives of a schema (`anyOf` and the like): which of them an object matches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

from assistant.toolkit.schema.json_schema import MAX_ALTERNATIVES, JsonSchema, Steps, kind_of, resolve

# Keywords allowed beside a default; with others, the default itself could be invalid.
_UNCONSTRAINED = frozenset({"type", "enum", "const", "default", "title", "description", "examples"})


def branches(schema: JsonSchema, keyword: str, root: JsonSchema, steps: Steps | None = None) -> list[JsonSchema]:
    """Return the schema itself if it has the keyword, else its alternatives that have it, nested ones included."""
    seen: dict[int, Any] = {}
    found = list(_branches(resolve(schema, root), keyword, root, seen))
    if steps is not None:
        steps.take(len(seen))
    return found


def _branches(schema: JsonSchema, keyword: str, root: JsonSchema, seen: dict[int, Any]) -> Iterator[JsonSchema]:
    seen[id(schema)] = schema
    if len(seen) > MAX_ALTERNATIVES:
        return
    if keyword in schema:
        yield schema
        return
    parts = schema.get("allOf") or ()
    for option in schema.get("anyOf") or schema.get("oneOf") or (parts if len(parts) == 1 else ()):
        found = resolve(option, root)
        if id(found) not in seen:
            yield from _branches(found, keyword, root, seen)


def object_branches(schema: JsonSchema, root: JsonSchema, steps: Steps) -> list[JsonSchema]:
    """Return the alternatives of a schema for objects: those with declared properties, and those with free names."""
    found = branches(schema, "properties", root, steps)
    known = set(map(id, found))
    for keyword in ("additionalProperties", "patternProperties"):
        for branch in branches(schema, keyword, root, steps):
            if id(branch) not in known and not branch.keys() & {"properties", "anyOf", "oneOf", "allOf"}:
                known.add(id(branch))
                found.append(branch)
    return found


def schemas_for(name: str, branch: JsonSchema) -> list[Any]:
    """Return the schemas that the value of a property may have to match; several if that depends on patterns."""
    if name in (properties := branch.get("properties", {})):
        return [properties[name]]
    found = [schema for pattern, schema in branch.get("patternProperties", {}).items() if _may_fit(name, pattern)]
    if isinstance(branch.get("additionalProperties"), dict):
        found.append(branch["additionalProperties"])
    return found


def _may_fit(name: str, pattern: str) -> bool:
    """Whether a name may fit a pattern. Only plain ones are read: patterns of others could take for ever in Python."""
    begins = pattern.startswith("^")
    ends = pattern.endswith("$")
    text = pattern.removeprefix("^").removesuffix("$")
    if re.escape(text).replace("\\-", "-") != text:
        return True
    if begins and ends:
        return name == text
    return name.startswith(text) if begins else name.endswith(text) if ends else text in name


def may_match(
    value: dict[str, Any], branch: JsonSchema, root: JsonSchema, steps: Steps | None = None, *, is_raw: bool = False
) -> bool:
    """Whether an object can match a branch: no other properties, and no value that `const` or `enum` excludes.

    Args:
        is_raw: texts may still be decoded or become numbers.
    """
    properties = branch.get("properties", {})
    for name, item in value.items():
        if name not in properties:
            if schemas_for(name, branch) or branch.get("additionalProperties") is True:
                continue
            return False
        values = _values(resolve(properties[name], root))
        if steps is not None:
            steps.take(1 + len(values or ()) // 10)
        if item is None or values is None or item in values:
            continue
        if not is_raw or not isinstance(item, str) or any(isinstance(one, str) for one in values):
            return False
    return True


def add_distinguishing_defaults(
    value: dict[str, Any], own: JsonSchema, other: JsonSchema, root: JsonSchema
) -> dict[str, Any]:
    """Add defaults of `own` to an object that could otherwise also match `other`."""
    if not may_match(value, other, root):
        return value
    added = {name: item for name, item in _defaults(own, root).items() if _is_foreign(name, item, other, root)}
    return added | value


def are_distinguishable(schema: JsonSchema, root: JsonSchema, steps: Steps) -> bool:
    """Whether an object still matches only one alternative after its properties that are null were removed.

    Alternatives with the same properties are ignored: null means the same in each. Raises `TooManySteps`.
    """
    found = branches(schema, "properties", root, steps)
    steps.take(len(found) * sum(len(one["properties"]) for one in found))
    return all(
        own["properties"].keys() == other["properties"].keys() or _is_distinguishable(own, other, root)
        for own, other in permutations(found, 2)
    )


def _is_distinguishable(own: JsonSchema, other: JsonSchema, root: JsonSchema) -> bool:
    properties, required = own["properties"], own.get("required", ())
    if not {*other.get("required", ())} <= properties.keys():
        return True
    constants = {name: _values(resolve(properties[name], root)) or () for name in required if name in properties}
    return any(
        name not in other["properties"] or (values and all(_is_foreign(name, value, other, root) for value in values))
        for name, values in constants.items()
    ) or any(_is_foreign(name, default, other, root) for name, default in _defaults(own, root).items())


def _is_foreign(name: str, value: Any, other: JsonSchema, root: JsonSchema) -> bool:
    """Whether no object with this property and value can match `other`."""
    return not may_match({name: value}, other, root)


def _defaults(branch: JsonSchema, root: JsonSchema) -> dict[str, Any]:
    """Return the defaults that can be sent explicitly without a change of meaning: those of plain JSON types."""
    found: dict[str, Any] = {}
    for name, schema in branch.get("properties", {}).items():
        default = schema.get("default") if isinstance(schema, dict) and name not in branch.get("required", ()) else None
        resolved = resolve(schema, root)
        if (
            isinstance(default, str | int | float)
            and isinstance(resolved.get("type"), str)
            and not resolved.keys() - _UNCONSTRAINED
            and _is_valid_default(default, resolved)
        ):
            found[name] = default
    return found


def _is_valid_default(default: Any, schema: JsonSchema) -> bool:
    kind, values = kind_of(default), _values(schema)
    is_of_type = kind == schema["type"] or (kind == "integer" and schema["type"] == "number")
    return is_of_type and (values is None or default in values)


def _values(schema: JsonSchema) -> list[Any] | None:
    """Return the values of `const` or `enum`; None if the schema has neither."""
    return schema.get("enum", [schema["const"]] if "const" in schema else None)
