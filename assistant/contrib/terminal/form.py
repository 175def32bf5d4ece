"""Asks for the fields of a tool's question, one line each."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

Field = Mapping[str, Any]
YES = frozenset({"y", "yes"})


async def fill(fields: Iterable[Field], read: Callable[[str], Awaitable[str]]) -> dict[str, Any] | None:
    """Return the answers by the fields' names; None if nothing, or nothing to a required field, was given.

    Args:
        fields: as the interrupt of a question has them (`FormField.as_json`).
        read: shows a prompt and returns the line that is typed.
    """
    answers: dict[str, Any] = {}
    for field in fields:
        given = (await read(_prompt(field))).strip()
        if given:
            answers[field["name"]] = value_of(field, given)
        elif field.get("required"):
            return None
    return answers or None


def value_of(field: Field, given: str) -> Any:
    """Return a typed line as the value of a field; one that does not fit stays text, which the question refuses."""
    options = {str(option).casefold(): option for option in field.get("options", ())}
    try:
        match field["kind"]:
            case "yes_no":
                return given.casefold() in YES
            case "integer":
                return int(given)
            case "number":
                return float(given)
            case "json":
                return json.loads(given)
            case "choice":
                return options.get(given.casefold(), given)
            case "several":
                chosen = [part.strip() for part in given.split(",")]
                return [options.get(part.casefold(), part) for part in chosen]
    except (ValueError, RecursionError):
        pass
    return given


def _prompt(field: Field) -> str:
    options = "/".join(map(str, field.get("options", ()))) or ("y/N" if field["kind"] == "yes_no" else "")
    return " ".join(filter(None, (field["label"], options and f"[{options}]"))) + ": "
