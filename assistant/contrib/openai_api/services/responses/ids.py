"""Ids of responses, their items and files. They name the conversation, by whose key the database finds them."""

from __future__ import annotations

import re
import uuid

_RESPONSE = re.compile(r"resp_(?P<conversation>[0-9a-f]{32})(?:[0-9a-f]{16})?")
_ITEM = re.compile(r"(?P<kind>msg|rs|fc|mcp|mcpr)_(?P<conversation>[0-9a-f]{32})(?P<rest>.{0,160})", re.DOTALL)
_FILE = re.compile(r"file-(?P<id>[0-9a-f]{32})")


def response_id(conversation: uuid.UUID, run: uuid.UUID | None = None) -> str:
    """Return the id of a response in a conversation, which is also that of its run.

    `run`: makes it different from those of the conversation's other responses; None if it is the only one.
    """
    return f"resp_{conversation.hex}" + ("" if run is None else run.hex[:16])


def conversation_of(response: str) -> uuid.UUID | None:
    """Return the conversation that the id of a response names; None if it is no such id."""
    found = _RESPONSE.fullmatch(response)
    return None if found is None else uuid.UUID(found["conversation"])


def item_id(kind: str, conversation: uuid.UUID, rest: str) -> str:
    """Return the id of an item: `rest` is that of its message, or of its call."""
    return f"{kind}_{conversation.hex}{rest}"


def parse_item_id(item: str) -> tuple[str, uuid.UUID, str] | None:
    """Return the kind, the conversation and the rest of an item's id; None if it is no such id."""
    found = _ITEM.fullmatch(item)
    return None if found is None else (found["kind"], uuid.UUID(found["conversation"]), found["rest"])


def file_id(attachment: uuid.UUID) -> str:
    """Return the id of an uploaded file, as the Files API has it."""
    return f"file-{attachment.hex}"


def parse_file_id(value: object) -> uuid.UUID | None:
    """Return the attachment that a file's id names, as the Files API or the REST API writes it; None for any other."""
    if not isinstance(value, str):
        return None
    found = _FILE.fullmatch(value)
    try:
        return uuid.UUID(value if found is None else found["id"])
    except ValueError:
        return None
