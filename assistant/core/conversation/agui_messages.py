"""Messages as AG-UI's MESSAGES_SNAPSHOT carries them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assistant.core.conversation.sub_agent_transcripts import SubAgentRun
from assistant.core.values.messages import REASONING_SUFFIX, Message

# Who issues the ids of files: this server.
FILE_PROVIDER = "tenant-assistant"


def sub_agents_to_agui(runs: Iterable[SubAgentRun]) -> list[dict[str, Any]]:
    """Messages of sub-agents as AG-UI's MESSAGES_SNAPSHOT carries them; `metadata.subagent` names the speaker."""
    wire: list[dict[str, Any]] = []
    for one in runs:
        about = {"name": one.name, "status": one.status, "parentToolCallId": one.call_id}
        about |= {"parentSubagentRunId": one.parent_id} if one.parent_id else {}
        about |= {"message": one.error} if one.error else {}
        for message in to_agui(one.messages):
            metadata = {**message.get("metadata", {}), "subagent": about}
            wire.append({**message, "subagentRunId": one.id, "metadata": metadata})
    return wire


def to_agui(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages as AG-UI's MESSAGES_SNAPSHOT carries them.

    `metadata` marks those that are partial or superseded, and has the `cutReason` of a partial one if it is known.
    """
    wire: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "user":
            wire.append({"id": message.id, "role": "user", "content": _user_content(message)})
        elif message.role == "tool":
            result = {"id": message.id, "role": "tool", "content": message.content, "toolCallId": message.tool_call_id}
            wire.append(result)
        elif message.role == "assistant":
            wire.extend(_assistant_to_agui(message))
    return wire


def _user_content(message: Message) -> str | list[dict[str, Any]]:
    """Return the text, or content parts of a message with files, each by the id under which the server has it."""
    if not message.attachments:
        return message.content
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content else []
    for file in message.attachments:
        source = {"type": "file", "value": file.id, "provider": FILE_PROVIDER, "mimeType": file.media_type}
        kind = "image" if file.is_image else "document"
        parts.append({"type": kind, "source": source, "metadata": {"name": file.name, "size": file.size}})
    return parts


def _assistant_to_agui(message: Message) -> list[dict[str, Any]]:
    wire: list[dict[str, Any]] = []
    if message.reasoning:
        wire.append({"id": message.id + REASONING_SUFFIX, "role": "reasoning", "content": message.reasoning})
    if message.content or message.tool_calls or message.is_partial:
        answer: dict[str, Any] = {"id": message.id, "role": "assistant"}
        if message.content:
            answer["content"] = message.content
        if message.tool_calls:
            answer["toolCalls"] = [call.to_wire() for call in message.tool_calls]
        marks: dict[str, Any] = {"partial": message.is_partial, "superseded": message.is_superseded}
        marks["cutReason"] = message.cut_reason
        if metadata := {name: value for name, value in marks.items() if value}:
            answer["metadata"] = metadata
        wire.append(answer)
    return wire
