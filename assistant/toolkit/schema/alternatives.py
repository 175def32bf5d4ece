"""Among several schemas that an object may follow: which it follows, and what keeps it from following another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from assistant.toolkit.schema.json_schema import MAX_ALTERNATIVES, JsonSchema, holds_to, resolve


def branches(schema: JsonSchema, keyword: str, root: JsonSchema) -> list[JsonSchema]:
    """The schema itself if it has the keyword, or else those of its alternatives that have it, each once."""
    return list(_branches(resolve(schema, root), keyword, root, {}))


def _branches(schema: JsonSchema, keyword: str, root: JsonSchema, seen: dict[int, Any]) -> Iterator[JsonSchema]:
    seen[id(schema)] = schema
    if len(seen) > MAX_ALTERNATIVES:
        return
    if keyword in schema:
        yield schema
        return
    for option in schema.get("anyOf") or schema.get("oneOf") or ():
        found = resolve(option, root)
        if id(found) not in seen:
            yield from _branches(found, keyword, root, seen)


def could_be(value: dict[str, Any], branch: JsonSchema, root: JsonSchema) -> bool:
    """Whether an object has only the properties of a branch, and no tag of another one."""
    properties = branch["properties"]
    for name, item in value.items():
        if name not in properties:
            return False
        values = _values(resolve(properties[name], root))
        if item is not None and values is not None and item not in values:
            return False
    return True


def keep_apart(value: dict[str, Any], own: JsonSchema, other: JsonSchema, root: JsonSchema) -> dict[str, Any]:
    """An object of `own` with the defaults without which it could as well be one of `other`."""
    if not could_be(value, other, root):
        return value
    told = {name: item for name, item in _defaults(own, root).items() if _is_foreign(name, item, other, root)}
    return told | value


def are_kept_apart(schema: JsonSchema, root: JsonSchema) -> bool:
    """Whether what is left of an object without its nulls still tells which of the alternatives it follows.

    Alternatives with the same properties are no matter: null says no more in one than in the other.
    """
    return all(
        own["properties"].keys() == other["properties"].keys() or _is_kept_apart(own, other, root)
        for own, other in permutations(branches(schema, "properties", root), 2)
    )


def _is_kept_apart(own: JsonSchema, other: JsonSchema, root: JsonSchema) -> bool:
    mine, required = own["properties"], own.get("required", ())
    if not {*other.get("required", ())} <= mine.keys():
        return True
    said = {name: _values(resolve(mine[name], root)) or () for name in required if name in mine}
    return any(
        name not in other["properties"] or (values and all(_is_foreign(name, value, other, root) for value in values))
        for name, values in said.items()
    ) or any(_is_foreign(name, default, other, root) for name, default in _defaults(own, root).items())


def _is_foreign(name: str, value: Any, other: JsonSchema, root: JsonSchema) -> bool:
    return not could_be({name: value}, other, root)


def _defaults(branch: JsonSchema, root: JsonSchema) -> dict[str, Any]:
    """The defaults that mean the same when they are sent: plain values, whose type is no more than JSON tells."""
    found: dict[str, Any] = {}
    for name, wanted in branch["properties"].items():
        default = wanted.get("default") if isinstance(wanted, dict) and name not in branch.get("required", ()) else None
        resolved = resolve(wanted, root)
        if (
            isinstance(default, str | int | float)
            and isinstance(resolved.get("type"), str)
            and "format" not in resolved
            and holds_to(default, resolved)
        ):
            found[name] = default
    return found


def _values(wanted: JsonSchema) -> list[Any] | None:
    """The only values that a schema allows, if it names them."""
    return wanted.get("enum", [wanted["const"]] if "const" in wanted else None)
