"""Reads parts of clients' frames, and makes those that answer them."""

from __future__ import annotations

from assistant.core.values.events import Custom
from assistant.services.addresses import api_url
from assistant.services.errors import Refused
from assistant.services.eventlog.frames import bare_frame
from assistant.services.runs.input.ids import parse_id
from assistant.toolkit.text import clean_text


def parse_after(value: object) -> tuple[str | None, int]:
    """Return the run and event number of a client's position; (None, 0) without one. Raises `Refused`."""
    if value is None:
        return None, 0
    if not isinstance(value, dict):
        raise Refused("invalid_input", "after must be an object with runId and seq.")
    seq = value.get("seq")
    if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < 2**31:
        raise Refused("invalid_input", "after.seq must be a whole number from 0.")
    return parse_id(value.get("runId"), "runId"), seq


def parse_message_id(value: object) -> str:
    """Return a message's id. Raises `Refused` unless it is a text."""
    if not isinstance(value, str):
        raise Refused("invalid_input", "messageId must be a text.")
    return clean_text(value)


def where_to_upload(tenant: str) -> str:
    """Return the sentence for a client that sends a file too large for a frame."""
    path = api_url("attachments", tenant=tenant)
    return f"Upload files at {path}, and send their ids."


def protocol_error(code: str, reason: str) -> str:
    """Return the frame that says why a client's frame was not understood."""
    return bare_frame(Custom("protocol_error", {"code": code, "reason": reason}))
