"""Checks ids of threads, runs and messages that clients choose."""

from __future__ import annotations

import re

from assistant.services.errors import Refused
from assistant.toolkit.text import clean_text

MAX_CLIENT_ID, MAX_MESSAGE_ID = 200, 128
_MESSAGE_ID = re.compile(r"[!-~]{1,128}")


def parse_id(value: object, name: str) -> str:
    """Return AG-UI's threadId or runId, by its name, as it is. Raises `Refused` unless it has 1 to 200 characters."""
    # Not cleaned: an id that is echoed changed would be of no use to the client.
    if not isinstance(value, str) or not 0 < len(value) <= MAX_CLIENT_ID or clean_text(value) != value:
        raise Refused("invalid_input", f"{name} must be a text of 1 to {MAX_CLIENT_ID} characters.")
    return value


def parse_forwarded_id(value: object, name: str) -> str | None:
    """Return an id of `forwardedProps`, which may be empty or None. Raises `Refused` if it is none."""
    return value if value is None or value == "" else parse_id(value, f"forwardedProps.{name}")


def parse_message_id(value: str) -> str:
    """Return a message's id. Raises `Refused` unless it is 1 to 128 printable ASCII characters without spaces."""
    if not _MESSAGE_ID.fullmatch(value):
        sentence = f"A message id must be 1 to {MAX_MESSAGE_ID} printable characters without spaces."
        raise Refused("invalid_input", sentence)
    return value
