"""Messages as AG-UI's MESSAGES_SNAPSHOT carries them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assistant.core.conversation.drafts import REASONING_SUFFIX
from assistant.core.conversation.sub_agent_transcripts import Asked
from assistant.core.values.messages import Message


def sub_agents_to_agui(asked: Iterable[Asked]) -> list[dict[str, Any]]:
    """What asked assistants said, as AG-UI's MESSAGES_SNAPSHOT carries it; `metadata.subagent` says who is speaking."""
    told: list[dict[str, Any]] = []
    for one in asked:
        about = {"name": one.name, "status": one.status, "parentToolCallId": one.call_id}
        about |= {"parentSubagentRunId": one.parent_id} if one.parent_id else {}
        about |= {"message": one.error} if one.error else {}
        for message in to_agui(one.messages):
            metadata = {**message.get("metadata", {}), "subagent": about}
            told.append({**message, "subagentRunId": one.id, "metadata": metadata})
    return told


def to_agui(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages as AG-UI's MESSAGES_SNAPSHOT carries them; what is partial has `metadata: {"partial": true}`."""
    told: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "user":
            told.append({"id": message.id, "role": "user", "content": message.content})
        elif message.role == "tool":
            told.append(
                {"id": message.id, "role": "tool", "content": message.content, "toolCallId": message.tool_call_id}
            )
        elif message.role == "assistant":
            told.extend(_assistant_to_agui(message))
    return told


def _assistant_to_agui(message: Message) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    if message.reasoning:
        told.append({"id": message.id + REASONING_SUFFIX, "role": "reasoning", "content": message.reasoning})
    if message.content or message.tool_calls or message.is_partial:
        said: dict[str, Any] = {"id": message.id, "role": "assistant"}
        if message.content:
            said["content"] = message.content
        if message.tool_calls:
            said["toolCalls"] = [call.to_wire() for call in message.tool_calls]
        if message.is_partial:
            said["metadata"] = {"partial": True}
        told.append(said)
    return told
