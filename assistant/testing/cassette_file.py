"""The exchanges of a cassette, and the JSON file that holds them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = 1
_MAX_DIFFERENCES = 5
_SHOWN_CHARACTERS = 200


class CassetteError(Exception):
    """A request is not on the cassette, or the file cannot be used; the message says what differs."""


@dataclass(frozen=True)
class Exchange:
    """A request and its response as a cassette stores them: masked, with the body as JSON where it is JSON."""

    request: dict[str, Any]
    response: dict[str, Any]

    def differences(self, request: dict[str, Any]) -> list[str]:
        """Return how another request differs from the recorded one: one line for each value, none if they are equal."""
        wanted, sent = ({name: one[name] for name in ("method", "path", "body")} for one in (self.request, request))
        return list(_differences(wanted, sent, ""))


def _differences(recorded: Any, sent: Any, path: str) -> Iterator[str]:
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for name in [*recorded, *(name for name in sent if name not in recorded)]:
            place = f"{path}.{name}" if path else str(name)
            if name not in sent:
                yield f"{place}: only in the recording ({_shown(recorded[name])})"
            elif name not in recorded:
                yield f"{place}: not in the recording ({_shown(sent[name])})"
            else:
                yield from _differences(recorded[name], sent[name], place)
    elif isinstance(recorded, list) and isinstance(sent, list) and len(recorded) == len(sent):
        for number, (one, other) in enumerate(zip(recorded, sent, strict=True)):
            yield from _differences(one, other, f"{path}.{number}")
    elif recorded != sent:
        yield f"{path}: recorded {_shown(recorded)}, sent {_shown(sent)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def describe(differences: Sequence[str]) -> str:
    """Return the first differences as text."""
    more = len(differences) - _MAX_DIFFERENCES
    return "\n".join([*differences[:_MAX_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])])


def body_of(content: bytes) -> Any:
    """Return a body as a cassette stores it: JSON, else text, else base64."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        # Part of a character: the stream was cut there.
        return {"base64": base64.b64encode(content).decode()}
    try:
        return json.loads(text)
    except ValueError:
        return text


def chunk_of(content: bytes) -> Any:
    """Return a piece of a stream as a cassette stores it: text, else base64."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def content_of(stored: Any) -> bytes:
    """Return the bytes of a stored body or piece."""
    if isinstance(stored, str):
        return stored.encode()
    if isinstance(stored, dict) and stored.keys() == {"base64"}:
        return base64.b64decode(stored["base64"])
    return json.dumps(stored, ensure_ascii=False).encode()


def read_cassette(path: Path) -> tuple[str, list[Exchange]]:
    """Return the address of the provider that was recorded, and the exchanges. Raises `CassetteError`."""
    try:
        held = json.loads(path.read_text())
        if held["version"] != VERSION:
            raise CassetteError(f"{path} has version {held['version']}; this release reads {VERSION}. Record it again.")
        return held["server"], [Exchange(one["request"], one["response"]) for one in held["exchanges"]]
    except (ValueError, KeyError, TypeError) as exc:
        raise CassetteError(f"{path} is not a cassette: {exc!r}") from exc


def write_cassette(path: Path, server: str, exchanges: Sequence[Exchange]) -> None:
    """Write a cassette, in a new folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    held = [{"request": one.request, "response": one.response} for one in exchanges]
    text = json.dumps({"version": VERSION, "server": server, "exchanges": held}, ensure_ascii=False, indent=2)
    path.write_text(text + "\n")
