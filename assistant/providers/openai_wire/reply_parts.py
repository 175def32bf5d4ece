"""What a reply is put together from: its channels, and the values in which servers send text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from assistant.core.llm.protocol import ModelError
from assistant.core.values.split_characters import SplitCharacterJoiner
from assistant.toolkit.text import clean_text

UNREADABLE = "The provider sent a kind of content that cannot be read here."

# Characters of a response's id that are kept.
MAX_ID = 200


class Channel:
    """The text or the reasoning of a reply."""

    __slots__ = ("joiner", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.joiner = SplitCharacterJoiner()


def id_in(value: Any) -> str:
    """Return a response's id as text; "" if it is none."""
    return clean_text(value)[:MAX_ID] if isinstance(value, str) else ""


def transcript_in(audio: Any) -> str:
    """Return the words of a sound in an answer; "" if there are none."""
    found = audio.get("transcript") if isinstance(audio, dict) else None
    return found if isinstance(found, str) else ""


def plain_text(value: Any) -> str:
    """Return a value as text: text itself, or the parts of a list joined. Raises `ModelError` for any other."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(plain_text(part.get("text") if isinstance(part, dict) else part) for part in value)
    if isinstance(value, dict) and isinstance(value.get("value"), str):
        return str(value["value"])
    if value is None:
        return ""
    raise ModelError(UNREADABLE)


def content_parts(parts: Iterable[Any]) -> Iterator[tuple[Literal["text", "reasoning", "refusal"], str]]:
    """Yield the kind and the text of each part of a content that is a list. Raises `ModelError` for other kinds."""
    for given in parts:
        part = {"type": "text", "text": given} if isinstance(given, str) else given
        match kind := part.get("type", "text") if isinstance(part, dict) else "":
            case "text" | "output_text":
                yield "text", plain_text(part.get("text"))
            case "refusal":
                yield "refusal", plain_text(part.get("refusal"))
            case "thinking" | "reasoning":
                yield "reasoning", plain_text(part.get(kind) or part.get("text"))
            case "reference" | "tool_reference":
                pass  # Mistral's sources; the text is complete without them
            case _:
                raise ModelError(UNREADABLE)
