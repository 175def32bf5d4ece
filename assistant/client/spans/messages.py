"""Messages in the form in which the conventions record them. Source: gen-ai-input-messages.json of the conventions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assistant.core.values.messages import Message, Reply, ToolCall


def input_attributes(messages: Sequence[Message]) -> Mapping[str, str]:
    """Return the attributes that record what a model is asked; files are named, and not recorded."""
    told = [_text(message.content) for message in messages if message.role == "system"]
    asked = [{"role": one.role, "parts": _parts(one)} for one in messages if one.role != "system"]
    attributes = {"gen_ai.input.messages": _json(asked)}
    return attributes | ({"gen_ai.system_instructions": _json(told)} if told else {})


def output_attributes(reply: Reply) -> Mapping[str, str]:
    """Return the attributes that record a model's answer."""
    parts = [*([_text(reply.text)] if reply.text else []), *map(_call, reply.tool_calls)]
    return {
        "gen_ai.output.messages": _json([{"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}])
    }


def _parts(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_call_response", "id": message.tool_call_id, "response": message.content}]
    files = [
        {"type": "file", "modality": one.media_type.partition("/")[0], "mime_type": one.media_type, "file_id": one.name}
        for one in message.media
    ]
    return [*([_text(message.content)] if message.content else []), *map(_call, message.tool_calls), *files]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
