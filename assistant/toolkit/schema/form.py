"""Reads a JSON Schema of an object as the fields of a form, for the admin and for the chat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from assistant.toolkit.schema.json_schema import JsonSchema, resolve

Kind = Literal["text", "lines", "integer", "number", "date", "yes_no", "choice", "several", "json"]
# Texts that may be longer are written in a box of several lines.
SHORT_TEXT = 200
_KINDS: dict[str, Kind] = {"boolean": "yes_no", "integer": "integer", "number": "number"}


@dataclass(frozen=True, slots=True)
class FormField:
    """One property of a schema.

    Attributes:
        kind: how it is entered; `json` for everything that has no control of its own.
        label: its name for people.
        options: the values to choose from.
        default: the value if it is left empty; None if there is none.
    """

    name: str
    kind: Kind
    label: str
    help: str = ""
    is_required: bool = False
    options: tuple[Any, ...] = ()
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what a page needs to draw it, with the names of the protocol."""
        values = {
            "name": self.name,
            "kind": self.kind,
            "label": self.label,
            "help": self.help,
            "required": self.is_required,
            "options": list(self.options),
            "minimum": self.minimum,
            "maximum": self.maximum,
            "maxLength": self.max_length,
        }
        return {name: value for name, value in values.items() if value not in (None, "", [], False)}


def form_of(root: JsonSchema) -> list[FormField]:
    """Return a field for each property of an object's schema, in its order."""
    required = root.get("required", ())
    return [field_of(name, schema, is_required=name in required) for name, schema in properties_of(root)]


def properties_of(root: JsonSchema) -> Iterator[tuple[str, JsonSchema]]:
    """Yield the properties of an object's schema with their own schemas, in its order."""
    for name, wanted in root.get("properties", {}).items():
        schema = dict(_resolved(wanted, root))
        if isinstance(schema.get("items"), dict):
            schema["items"] = _resolved(schema["items"], root)
        yield name, schema


def _resolved(wanted: JsonSchema, root: JsonSchema) -> JsonSchema:
    """Follow references, and take the other alternative of one that may be null."""
    schema = dict(resolve(wanted, root))
    options = [resolve(option, root) for option in schema.get("anyOf", ())]
    others = [option for option in options if option.get("type") != "null"]
    if len(options) == len(others) + 1 and len(others) == 1:
        schema = {**others[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    return {**schema, **{key: value for key, value in wanted.items() if key not in {"$ref", "anyOf"}}}


def field_of(name: str, schema: JsonSchema, *, is_required: bool = False) -> FormField:
    """Return the field of a property, by its own schema, which has no references."""
    kind, options = _kind_of(schema)
    label, title = label_of(name), str(schema.get("title") or "").strip()
    return FormField(
        name=name,
        kind=kind,
        # Generated titles are the name in another spelling.
        label=title if title and title.casefold() != label.casefold() else label,
        help=str(schema.get("description", "")).strip(),
        is_required=is_required,
        options=options,
        default=schema.get("default"),
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        max_length=schema.get("maxLength"),
    )


def _kind_of(schema: JsonSchema) -> tuple[Kind, tuple[Any, ...]]:
    if options := _options(schema):
        return "choice", options
    declared = schema.get("type")
    if declared == "array" and (options := _options(schema.get("items", {}))):
        return "several", options
    if declared == "string":
        if schema.get("format") == "date":
            return "date", ()
        return ("text" if schema.get("maxLength", SHORT_TEXT + 1) <= SHORT_TEXT else "lines"), ()
    return (_KINDS.get(declared, "json") if isinstance(declared, str) else "json"), ()


def _options(schema: Any) -> tuple[Any, ...]:
    if not isinstance(schema, dict):
        return ()
    if "const" in schema:
        return (schema["const"],)
    # An empty field means null.
    return tuple(value for value in schema["enum"] if value is not None) if isinstance(schema.get("enum"), list) else ()


def label_of(name: str) -> str:
    """Return a property's or a tool's name as a label."""
    return " ".join(name.replace("_", " ").split()).capitalize()
