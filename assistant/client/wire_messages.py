"""Reads messages as the openai package writes them: of chat completions and of Responses, as mappings or objects."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, cast

from assistant.core.values.messages import Message, Role, ToolCall
from assistant.core.values.untrusted import fenced
from assistant.toolkit import Media, ToolError

_ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
}  # fmt: skip
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.-]+)*;base64,", re.ASCII)
# Items of Responses that only their provider can read, or that repeat what a message says.
_SKIPPED = frozenset({"reasoning", "web_search_call"})


def message_of(given: object) -> Message | None:
    """Return a message; None for an item that says nothing to another provider. Raises `ValueError` if it is none."""
    if isinstance(given, Message):
        return given
    wire = _as_mapping(given)
    kind = wire.get("type")
    if kind in _SKIPPED:
        return None
    if kind == "function_call":
        call = ToolCall(_text(wire, "call_id"), _text(wire, "name"), _text(wire, "arguments"))
        return Message("assistant", tool_calls=(call,))
    if kind == "function_call_output":
        text, media = _content(wire.get("output"))
        return Message("tool", text, tool_call_id=_text(wire, "call_id"), media=_images(media))
    if wire.get("role") == "function":  # of older histories, as `function_call` is
        name = _text(wire, "name")
        return Message("tool", _content(wire.get("content") or "")[0], tool_call_id=f"function_{name}")
    role = _ROLES.get(str(wire.get("role")))
    if role is None:
        raise ValueError("A message needs a role: system, developer, user, assistant or tool.")
    text, media = _content(wire.get("content") or wire.get("refusal") or "")
    if media and role in ("system", "assistant"):
        raise ValueError("Only messages of users and tools can have images.")
    media = media if role == "user" else _images(media)
    calls = tuple(_call(_as_mapping(call)) for call in wire.get("tool_calls") or ())
    if not calls and (called := wire.get("function_call")):
        name = _text(_as_mapping(called), "name")
        calls = (ToolCall(f"function_{name}", name, _text(_as_mapping(called), "arguments")),)
    return Message(role, text, str(wire.get("id") or ""), calls, _text(wire, "tool_call_id"), media=media)


def _images(media: tuple[Media, ...]) -> tuple[Media, ...]:
    """Return the images of a message that is not a user's. Raises `ValueError` for other files."""
    if other := next((one for one in media if not one.is_image), None):
        raise ValueError(f"{other.name} can only be in a message of the user.")
    return media


def _as_mapping(given: object) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    dump = getattr(given, "model_dump", None)
    if not callable(dump):
        raise ValueError(f"{type(given).__name__} is no message.")
    return cast("Mapping[str, Any]", dump())


def _text(wire: Mapping[str, Any], name: str) -> str:
    found = wire.get(name) or ""
    if not isinstance(found, str):
        raise ValueError(f"The {name} of a message must be a text.")
    return found


def _call(wire: Mapping[str, Any]) -> ToolCall:
    function = wire.get("function")
    if not isinstance(function, Mapping):
        raise ValueError("Only calls of functions can be in a history.")
    return ToolCall(_text(wire, "id"), _text(function, "name"), _text(function, "arguments"))


def _content(content: object) -> tuple[str, tuple[Media, ...]]:
    """Return the text and the images of a content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list | tuple):
        raise ValueError("The content of a message is a text or a list of parts.")
    texts: list[str] = []
    media: list[Media] = []
    for part in map(_as_mapping, content):
        match part.get("type"):
            case "text" | "input_text" | "output_text":
                texts.append(_text(part, "text"))
            case "refusal":
                texts.append(_text(part, "refusal"))
            case "image_url" | "input_image":
                image = part.get("image_url")
                url = image.get("url") if isinstance(image, Mapping) else image
                media.append(_from_data_url(url, f"image {len(media) + 1}"))
            case "file" | "input_file":
                about = _as_mapping(part.get("file") if part.get("type") == "file" else part)
                file = _from_data_url(about.get("file_data"), str(about.get("filename") or "file"))
                if file.is_pdf:
                    media.append(file)
                else:
                    texts.append(text_of_file(file))
            case kind:
                raise ValueError(f"Parts of the type {json.dumps(kind)} cannot be sent here.")
    return "\n\n".join(texts), tuple(media)


def text_of_file(file: Media) -> str:
    """Return the text of a file between markers. Raises `ValueError` if it is none."""
    if not file.media_type.startswith("text/") and file.media_type != "application/json":
        raise ValueError(f"{file.name} is neither an image nor text: extract its text first.")
    try:
        return fenced(f"Name: {file.name}\n\n{file.data.decode()}", "an attached file")
    except UnicodeDecodeError as exc:
        raise ValueError(f"{file.name} is not UTF-8 text.") from exc


def _from_data_url(url: object, name: str) -> Media:
    found = _DATA_URL.match(url) if isinstance(url, str) else None
    if not isinstance(url, str) or found is None:
        raise ValueError(
            "Files and images of a history must be data: URLs; nothing is fetched, and ids say nothing here."
        )
    try:
        return Media(base64.b64decode(url[found.end() :], validate=True), found[1], name=name)
    except (binascii.Error, ToolError) as exc:
        raise ValueError(f"{name} is not what its data: URL says: {exc}") from exc
