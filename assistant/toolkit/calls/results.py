"""Whatever a tool returns, as the text that the model reads and what a page shows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from assistant.toolkit.calls.json_values import MAX_ITEMS, more, register_converter, to_plain, waiting
from assistant.toolkit.errors import InvalidTool, ToolError
from assistant.toolkit.guards.tripwire import Tripwire
from assistant.toolkit.media import Media, checked, media_in
from assistant.toolkit.text import clean_text

__all__ = ["MAX_ITEMS", "MAX_TOKENS", "ToolResult", "convert", "cut", "drain", "register_converter"]

# Tokens of one result that the model is shown, and that are kept for the operator.
MAX_TOKENS = 10_000
MAX_KEPT = 250_000
# Tokenisers differ; in most, a token has about four bytes, whatever the script.
BYTES_PER_TOKEN = 4
NOTHING = "Done"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call came to. A tool may return one, to show a page something else than the model.

    `content` is read by the model, `display` (any value that converts to JSON) is shown on pages, `media` are files
    that both get, `value` is what the function returned, `full` the whole text where `content` had to be cut.
    """

    content: str = ""
    display: Any = None
    value: Any = None
    is_error: bool = False
    full: str = ""
    media: tuple[Media, ...] = ()


def _refuse_within(result: ToolResult) -> None:
    raise InvalidTool("A ToolResult stands within another value: a tool returns one, and nothing around it.")


register_converter(lambda value: isinstance(value, ToolResult), _refuse_within)


def convert(value: Any, *, may_wait: bool = True, tripwire: Tripwire | None = None) -> str:
    """A value as text: strings as they are, None as "Done", everything else as JSON.

    Args:
        may_wait: whether database rows, generators and long values may be read here; if not, they raise `WouldWait`.
        tripwire: looks at the rows in it, and is settled by the caller; default one of its own.

    Raises:
        ForeignRow: it holds a row of another tenant.
        ToolError: the value cannot be converted; the sentence names its type.
    """
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return clean_text(str(value.value if isinstance(value, Enum) else value))
    try:
        return json.dumps(_plain(value, may_wait, tripwire), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as exc:  # a number of thousands of digits
        raise _not_shown(value) from exc


def result_of(value: Any, converter: Callable[[Any], Any] | None = None, *, may_wait: bool = True) -> ToolResult:
    """What a function returned as a `ToolResult`, cut where it is too long. Raises as `convert` does."""
    if converter is None and (files := media_in(value)):
        value = ToolResult(media=files, value=value)
    tripwire = Tripwire(waiting(may_wait))
    if isinstance(value, ToolResult):
        # Neither is converted, and both leave the tool.
        tripwire.look_within([value.media, value.value])
        text = convert(value.content, may_wait=may_wait, tripwire=tripwire)
        display = None if value.display is None else _plain(value.display, may_wait, tripwire)
        made = replace(value, content=text, display=display, media=checked(value.media))
    else:
        shown = value if converter is None else _converted(value, converter, tripwire)
        made = ToolResult(convert(shown, may_wait=may_wait, tripwire=tripwire), value=value)
    tripwire.settle()
    short = cut(made.content)
    if short is not made.content:
        made = replace(made, content=short, full=made.full or cut(made.content, MAX_KEPT))
    return _with_media_named(made) if made.media else made


def _converted(value: Any, converter: Callable[[Any], Any], tripwire: Tripwire) -> Any:
    watched = tripwire.watched(value)
    tripwire.settle()
    return converter(watched)


def _with_media_named(made: ToolResult) -> ToolResult:
    """The result with a sentence on each file, so that whoever sees no files knows of them."""
    sentences = "\n".join(one.sentence for one in made.media)
    return replace(made, content=f"{made.content}\n{sentences}".lstrip("\n"))


def _plain(value: Any, may_wait: bool, tripwire: Tripwire | None) -> Any:
    try:
        return to_plain(value, may_wait=may_wait, tripwire=tripwire)
    except (TypeError, ValueError) as exc:
        raise _not_shown(value) from exc


def _not_shown(value: Any) -> ToolError:
    return ToolError(f"The tool's result ({type(value).__name__}) cannot be shown as text.")


def cut(text: str, limit: int = MAX_TOKENS) -> str:
    """A text of at most about `limit` tokens; a cut is said in the text itself."""
    if len(text) * 4 <= limit * BYTES_PER_TOKEN:  # a character has four bytes at most
        return text
    encoded = text.encode()
    if len(encoded) <= limit * BYTES_PER_TOKEN:
        return text
    shown = encoded[: limit * BYTES_PER_TOKEN].decode(errors="ignore")
    return f"{shown}\n[Cut here: the first {len(shown):,} of {len(text):,} characters are shown.]"


async def drain(value: Any) -> Any:
    """The items of an async iterator as a list, capped; anything else as it is."""
    if not isinstance(value, AsyncIterator):
        return value
    items: list[Any] = []
    try:
        async for item in value:
            if len(items) == MAX_ITEMS:
                items.append(more())
                break
            items.append(item)
    finally:
        if hasattr(value, "aclose"):
            await value.aclose()
    return items
