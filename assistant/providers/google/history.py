"""Writes a conversation as the `systemInstruction` and `contents` of a Gemini request.

Sources: https://ai.google.dev/gemini-api/docs/function-calling and .../thought-signatures
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

from assistant.core.values.messages import Message
from assistant.providers.google.assembler import CALL_SIGNATURE, KIND, TEXT_SIGNATURE
from assistant.providers.native.request_parts import (
    BEGINNING,
    BLANK,
    FROM_OUTSIDE,
    arguments_of,
    states_of,
    with_note,
)
from assistant.providers.openai_wire.history import AFTER_RESULTS, sent_name, with_one_system_message
from assistant.providers.openai_wire.provider_state import ProviderState
from assistant.providers.profiles.profile import family
from assistant.providers.sent_media import shown_media
from assistant.toolkit import Media

Body = dict[str, Any]
# What Google documents for calls that another model made.
NO_SIGNATURE = "skip_thought_signature_validator"
_OLDER = re.compile(r"gemini-[12](\D|$)")


def wire_conversation(
    messages: Sequence[Message], model: str, origin: str, *, sees_images: bool, with_state: bool = True
) -> tuple[str, list[Body]]:
    """Return the system prompt and the contents.

    Roles alternate and the first content is the user's. The results of one answer stand together, as many as there
    are calls, and have the calls' names; ids go back only where the model gave them. From Gemini 3 on the first call
    of each answer has a signature.

    Args:
        model: gets back what it gave with its messages, at `origin`.
        with_state: False to leave that out.
    """
    messages = with_one_system_message(messages)
    states = states_of(messages, KIND, model, origin) if with_state else {}
    is_older = _OLDER.match(family(model)) is not None
    shown = shown_media(messages, sees_images=sees_images)
    # Of each call: its name, and the id that the model gave it.
    called: dict[str, tuple[str, str]] = {}
    system = ""
    contents: list[Body] = []
    for index, message in enumerate(messages):
        match message.role:
            case "system":
                system = message.content
            case "assistant":
                _append(contents, "model", _answer(message, states.get(index), called, is_signed=not is_older))
            case "tool":
                _append(contents, "user", _result(message, called, shown, takes_images=not is_older))
            case _:
                if contents and _has_results(contents[-1]):
                    contents.append({"role": "model", "parts": [{"text": AFTER_RESULTS}]})
                _append(contents, "user", _question(message, shown))
    if not contents or contents[0]["role"] != "user":
        contents.insert(0, {"role": "user", "parts": [{"text": BEGINNING}]})
    return system if system.strip() else "", contents


def called_names(contents: Sequence[Body]) -> list[str]:
    """Return the names of the functions that were called, each once."""
    parts = (part for content in contents for part in content["parts"] if "functionCall" in part)
    return list(dict.fromkeys(part["functionCall"]["name"] for part in parts))


def _append(contents: list[Body], role: str, parts: list[Body]) -> None:
    """Add parts, to the last content if that has the same role."""
    if not parts:
        return
    if contents and contents[-1]["role"] == role:
        contents[-1]["parts"] += parts
    else:
        contents.append({"role": role, "parts": parts})


def _has_results(content: Body) -> bool:
    return any("functionResponse" in part for part in content["parts"])


def _question(message: Message, shown: frozenset[int]) -> list[Body]:
    images = [one for one in message.media if id(one) in shown]
    text = with_note(message.content, len(message.media) - len(images))
    if not text and not images:
        text = BLANK
    return [*([{"text": text}] if text else []), *map(_image, images)]


def _answer(
    message: Message, state: ProviderState | None, called: dict[str, tuple[str, str]], *, is_signed: bool
) -> list[Body]:
    parts: list[Body] = []
    if message.content.strip():
        parts.append({"text": message.content})
        if state is not None and isinstance(signature := state.fields.get(TEXT_SIGNATURE), str):
            parts[0]["thoughtSignature"] = signature
    # An answer that broke off has fewer calls than the provider gave state for.
    own = state.calls if state is not None and len(state.calls) >= len(message.tool_calls) else []
    calls: list[Body] = []
    for index, call in enumerate(message.tool_calls):
        name, given_id = sent_name(call), own[index].id if own else ""
        called[call.id] = name, given_id
        part: Body = {"functionCall": {"name": name, "args": arguments_of(call.arguments)}}
        if given_id:
            part["functionCall"]["id"] = given_id
        if own and isinstance(signature := own[index].fields.get(CALL_SIGNATURE), str):
            part["thoughtSignature"] = signature
        calls.append(part)
    if is_signed and calls and not any("thoughtSignature" in part for part in calls):
        calls[0]["thoughtSignature"] = NO_SIGNATURE
    return [*parts, *calls]


def _result(
    message: Message, called: dict[str, tuple[str, str]], shown: frozenset[int], *, takes_images: bool
) -> list[Body]:
    name, given_id = called.get(message.tool_call_id, ("unknown", ""))
    images = [_image(one) for one in message.media if id(one) in shown]
    output = message.content
    if images and message.sources:
        output = "\n\n".join(filter(None, (output, FROM_OUTSIDE)))
    result: Body = {"name": name, "response": {"output": output}}
    if given_id:
        result["id"] = given_id
    if images and takes_images:
        result["parts"] = images
        return [{"functionResponse": result}]
    return [{"functionResponse": result}, *images]


def _image(image: Media) -> Body:
    return {"inlineData": {"mimeType": image.media_type, "data": base64.b64encode(image.data).decode()}}
