"""Writes a conversation as the `system` and `messages` of an Anthropic request, and marks what is to be cached.

Sources: https://platform.claude.com/docs/en/build-with-claude/working-with-messages, .../extended-thinking and
.../prompt-caching
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assistant.core.values.messages import Message
from assistant.providers.anthropic.assembler import KIND
from assistant.providers.native.request_parts import (
    BEGINNING,
    BLANK,
    FROM_OUTSIDE,
    arguments_of,
    states_of,
    with_note,
)
from assistant.providers.openai_wire.history import CallIds, sent_name, with_one_system_message
from assistant.providers.openai_wire.provider_state import ProviderState
from assistant.providers.profiles.profile import Profile, plain_id
from assistant.providers.sent_media import shown_media
from assistant.toolkit import Media

Body = dict[str, Any]
CACHED: Mapping[str, str] = {"type": "ephemeral"}
_PROFILE = Profile(KIND, call_id=plain_id)
_THINKING = frozenset({"thinking", "redacted_thinking"})


def wire_conversation(
    messages: Sequence[Message], model: str, origin: str, *, sees_images: bool, with_state: bool = True
) -> tuple[list[Body], list[Body]]:
    """Return the blocks of the system prompt and the messages.

    Roles alternate and the first message is the user's; results stand together, first in the message after their
    calls; no text is empty. Thinking goes back before the calls that it led to, as it came.

    Args:
        model: gets back what it gave with its messages, at `origin`.
        with_state: False to leave that out.
    """
    messages = with_one_system_message(messages)
    states = states_of(messages, KIND, model, origin) if with_state else {}
    ids = CallIds(_PROFILE)
    shown = shown_media(messages, sees_images=sees_images)
    system: list[Body] = []
    wire: list[Body] = []
    for index, message in enumerate(messages):
        match message.role:
            case "system":
                system = [_text(message.content)] if message.content.strip() else []
            case "assistant":
                _append(wire, "assistant", _answer(message, states.get(index), ids))
            case "tool":
                _append(wire, "user", [_result(message, ids, shown)])
            case _:
                _append(wire, "user", _question(message, shown))
    if not wire or wire[0]["role"] != "user":
        wire.insert(0, {"role": "user", "content": [_text(BEGINNING)]})
    return system, wire


def mark_cached(system: list[Body], tools: list[Body], messages: list[Body]) -> None:
    """Mark the ends of the parts with which the next requests will also begin; four marks are allowed.

    These are the tools, the system prompt, the conversation before the newest question, and all of it: the next request
    of the same turn repeats all of it, and so does the next turn, unless its question is worded differently in the
    history.
    """
    if tools:
        tools[-1]["cache_control"] = CACHED
    if system:
        system[-1]["cache_control"] = CACHED
    newest = next((at for at in range(len(messages) - 1, 0, -1) if _is_question(messages[at])), 0)
    for message in (messages[-1], messages[newest - 1]) if newest else (messages[-1],):
        block = next((one for one in reversed(message["content"]) if one["type"] not in _THINKING), None)
        if block is not None:
            block["cache_control"] = CACHED


def lacks_thinking(messages: Sequence[Body]) -> bool:
    """Return whether calls of the running turn have no thinking before them, which is refused in manual mode."""
    for message in reversed(messages):
        if message["role"] == "user" and not any(one["type"] == "tool_result" for one in message["content"]):
            return False
        if message["role"] == "assistant" and message["content"][0]["type"] not in _THINKING:
            return True
    return False


def called_names(messages: Sequence[Body]) -> list[str]:
    """Return the names of the tools that were called, each once."""
    blocks = (block for message in messages for block in message["content"] if block["type"] == "tool_use")
    return list(dict.fromkeys(block["name"] for block in blocks))


def _append(wire: list[Body], role: str, blocks: list[Body]) -> None:
    """Add blocks, to the last message if that has the same role."""
    if not blocks:
        return
    if wire and wire[-1]["role"] == role:
        wire[-1]["content"] += blocks
    else:
        wire.append({"role": role, "content": blocks})


def _is_question(message: Body) -> bool:
    return message["role"] == "user" and any(one["type"] != "tool_result" for one in message["content"])


def _question(message: Message, shown: frozenset[int]) -> list[Body]:
    images = [one for one in message.media if id(one) in shown]
    text = with_note(message.content, len(message.media) - len(images))
    if not text and not images:
        text = BLANK
    return [*([_text(text)] if text else []), *map(_image, images)]


def _result(message: Message, ids: CallIds, shown: frozenset[int]) -> Body:
    images = [one for one in message.media if id(one) in shown]
    text = message.content if message.content.strip() else BLANK
    content: list[Body] = [_text(text), *map(_image, images)]
    if images and message.sources:
        content.append(_text(FROM_OUTSIDE))
    return {"type": "tool_result", "tool_use_id": ids.of_result(message.tool_call_id), "content": content}


def _answer(message: Message, state: ProviderState | None, ids: CallIds) -> list[Body]:
    text = message.content
    # An answer that broke off has fewer calls than the provider gave state for.
    own = state.calls if state is not None and len(state.calls) >= len(message.tool_calls) else []
    calls: list[Body] = [
        {
            "type": "tool_use",
            "id": ids.of_call(call, own[index].id if own else ""),
            "name": sent_name(call),
            "input": arguments_of(call.arguments),
        }
        for index, call in enumerate(message.tool_calls)
    ]
    order = state.fields.get("order") if state is not None and calls else None
    if isinstance(order, list) and order:
        return _in_order(order, text, calls)
    return [*([_text(text)] if text.strip() else []), *calls]


def _in_order(order: Sequence[Any], text: str, calls: Sequence[Body]) -> list[Body]:
    """Return the blocks of an answer in the order in which the model gave them."""
    blocks: list[Body] = []
    waiting = list(calls)
    for one in order:
        if isinstance(one, dict) and one.get("type") in _THINKING:
            blocks.append(dict(one))
        elif isinstance(one, int):
            piece, text = text[:one], text[one:]
            blocks += [_text(piece)] if piece.strip() else []
        elif waiting:
            blocks.append(waiting.pop(0))
    last = next((at for at, block in enumerate(blocks) if block["type"] == "tool_use"), len(blocks))
    if text.strip():  # what was added to the answer since
        blocks.insert(last, _text(text))
    blocks += waiting
    while blocks and blocks[-1]["type"] in _THINKING:  # what it led to is gone
        blocks.pop()
    return blocks


def _text(text: str) -> Body:
    return {"type": "text", "text": text}


def _image(image: Media) -> Body:
    data = base64.b64encode(image.data).decode()
    source = {"type": "base64", "media_type": image.media_type, "data": data}
    if image.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": image.name}


def ask_for_citations(wire: Iterable[Body]) -> None:
    """Have the model name the passages of documents that it takes something from; all of them say so, or none may."""
    for message in wire:
        for block in message["content"]:
            for one in (block, *(block["content"] if block["type"] == "tool_result" else ())):
                if one["type"] == "document":
                    one["citations"] = {"enabled": True}
