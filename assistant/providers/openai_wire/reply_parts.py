"""What a reply is put together from: its channels, and the values in which servers send text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from assistant.core.llm.protocol import ModelError
from assistant.core.values.messages import Usage
from assistant.toolkit.text import clean_text

# Higher counts are ignored.
MAX_TOKEN_COUNT = 100_000_000
# Where servers give the tokens that were read from a cache: OpenAI, DeepSeek, Kimi.
_CACHED = (("prompt_tokens_details", "cached_tokens"), ("prompt_cache_hit_tokens",), ("cached_tokens",))
# Where gateways give the tokens that were written to one: OpenRouter, DashScope, LiteLLM.
_WRITTEN = (
    ("prompt_tokens_details", "cache_write_tokens"),
    ("prompt_tokens_details", "cache_creation_input_tokens"),
    ("cache_creation_input_tokens",),
)


def usage_of(wire: Any) -> Usage:
    """Read a provider's token counts; a count that is missing or not a number is zero.

    xAI and Gemini leave reasoning out of `completion_tokens`, and count it in `total_tokens`.
    """
    sent = count(wire, "prompt_tokens")
    total = count(wire, "total_tokens")
    return Usage(
        cache_write_tokens=next(filter(None, (count(wire, *path) for path in _WRITTEN)), 0),
        input_tokens=sent,
        output_tokens=max(count(wire, "completion_tokens"), total - sent if sent else 0),
        cached_input_tokens=next(filter(None, (count(wire, *path) for path in _CACHED)), 0),
        reasoning_tokens=count(wire, "completion_tokens_details", "reasoning_tokens"),
    )


def count(value: Any, *path: str) -> int:
    """Return the count at this path of names in a JSON value; 0 if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    is_count = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_count and 0 < value <= MAX_TOKEN_COUNT else 0


# Bytes of a split UTF-8 character, which Python's "surrogateescape" decodes to U+DC80 to U+DCFF.
_BYTES = re.compile("[\udc80-\udcff]+")
# Such bytes, or half of a surrogate pair (from JSON escapes), at the end of a piece; the next piece may have the rest.
_UNFINISHED = re.compile("(?:[\ud800-\udbff]|[\udc80-\udcff]+)$")
# PostgreSQL cannot store NUL, and UTF-8 cannot encode lone surrogates.
_LONE = re.compile("[\x00\ud800-\udfff]")


@dataclass(slots=True)
class SplitCharacterJoiner:
    """Joins one text that arrives in pieces.

    `add` returns what is complete so far, and holds back a split character at the end. Lone surrogates and NUL become
    U+FFFD or, if `is_exact`, a backslash escape that is not valid JSON: damaged arguments must not look complete.

    Attributes:
        held: what is held back. While it is "", a piece of ASCII without NUL need not be added.
    """

    is_exact: bool = False
    held: str = ""

    def add(self, piece: str) -> str:
        if not self.held and not _LONE.search(piece):
            return piece
        text = _join_halves(self.held + piece)
        unfinished = _UNFINISHED.search(text)
        self.held = unfinished[0] if unfinished else ""
        return self._mark_lone(text[: unfinished.start()] if unfinished else text)

    def finish(self) -> str:
        """Return what was held back and not completed."""
        held = self.held
        self.held = ""
        return self._mark_lone(held)

    def _mark_lone(self, text: str) -> str:
        return _LONE.sub(lambda half: f"\\x{ord(half[0]):x}" if self.is_exact else "\ufffd", text)


def _join_halves(text: str) -> str:
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _BYTES.sub(_decode, paired)


def _decode(run: re.Match[str]) -> str:
    try:
        return run[0].encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError:
        return run[0]


UNREADABLE = "The provider sent a kind of content that cannot be read here."

# Characters of a response's id that are kept.
MAX_ID = 200


@dataclass(slots=True, eq=False)
class Channel:
    """The text or the reasoning of a reply."""

    parts: list[str] = field(default_factory=list)
    joiner: SplitCharacterJoiner = field(default_factory=SplitCharacterJoiner)


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
