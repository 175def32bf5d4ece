"""Puts what a schema refers to into the places of its references."""

from __future__ import annotations

from typing import Any

from assistant.providers.tool_adaptation.schemas import mapped
from assistant.toolkit.schema.json_schema import JsonSchema, Steps, TooManySteps, resolve

# Schemas of the result; what would need more says only its type.
MAX_PARTS = 3_000


def has_references(schema: Any) -> bool:
    """Return whether a schema has a reference, or definitions for some."""
    if isinstance(schema, dict):
        own = not {"$ref", "$defs", "definitions"}.isdisjoint(schema)
        return own or any(map(has_references, schema.values()))
    return isinstance(schema, list) and any(map(has_references, schema))


def inlined(schema: JsonSchema) -> tuple[JsonSchema, bool]:
    """Return a schema without references, and whether it says less now: values that contain themselves are cut."""
    writer = _Writer(schema)
    return writer.written(schema, ()), writer.is_cut


class _Writer:
    def __init__(self, root: JsonSchema) -> None:
        self.is_cut = False
        self._root = root
        self._steps = Steps(MAX_PARTS)

    def written(self, node: Any, within: tuple[str, ...]) -> Any:
        """Return a part of the schema; `within` are the references that have led to it."""
        reference = node.get("$ref")
        if isinstance(reference, str):
            target = resolve(node, self._root)
            beside = {key: value for key, value in node.items() if key != "$ref"}
            node = {**target, **beside}
            if reference in within:
                return self._cut(node)
            within = (*within, reference)
        try:
            self._steps.take()
        except TooManySteps:
            return self._cut(node)
        plain = {key: value for key, value in node.items() if key not in ("$defs", "definitions")}
        return mapped(plain, lambda part: self.written(part, within))

    def _cut(self, node: Any) -> JsonSchema:
        self.is_cut = True
        return {key: node[key] for key in ("type", "title", "description") if key in node}
