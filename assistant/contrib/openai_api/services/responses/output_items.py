"""Shows messages as the items of OpenAI's Responses API.

The caller's own tools are `function_call` items. Those of the server are `mcp_call` items, which clients show and never
run; their `server_label` is the assistant.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.contrib.openai_api.services.responses.ids import file_id, item_id
from assistant.core.values.messages import Message, ToolCall
from assistant.services.conversations.added_details import Annotation, annotations_in

NOTHING_ADDED: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ItemWriter:
    """Makes items of one response.

    Attributes:
        label: the `server_label` of the server's tools.
        own_tools: the names of the caller's tools.
    """

    conversation: uuid.UUID
    label: str
    own_tools: frozenset[str] = field(default_factory=frozenset)

    def message(
        self, message_id: str, text: str | None, status: str, annotations: Sequence[Annotation] = ()
    ) -> dict[str, Any]:
        """Return a message of the assistant; `text` is None before it has begun."""
        content = [] if text is None else [text_part(text, annotations)]
        identity = item_id("msg", self.conversation, message_id)
        return {"id": identity, "type": "message", "status": status, "role": "assistant", "content": content}

    def reasoning(self, message_id: str, text: str | None, status: str) -> dict[str, Any]:
        """Return the reasoning before a message; `text` is None before it has begun."""
        summary = [] if text is None else [{"type": "summary_text", "text": text}]
        identity = item_id("rs", self.conversation, message_id)
        return {"id": identity, "type": "reasoning", "status": status, "summary": summary, "encrypted_content": None}

    def function_call(self, call: ToolCall, status: str) -> dict[str, Any]:
        """Return a call of the caller's own tool."""
        return {
            "id": item_id("fc", self.conversation, call.id),
            "type": "function_call",
            "status": status,
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }

    def server_call(self, call: ToolCall, status: str, output: str | None = None) -> dict[str, Any]:
        """Return a call of a tool of the server."""
        return {
            "id": item_id("mcp", self.conversation, call.id),
            "type": "mcp_call",
            "status": status,
            "server_label": self.label,
            "name": call.name,
            "arguments": call.arguments,
            "output": output,
            "error": None,
            "approval_request_id": None,
        }

    def approval_request(self, call: ToolCall) -> dict[str, Any]:
        """Return a call that waits for approval."""
        return {
            "id": item_id("mcpr", self.conversation, call.id),
            "type": "mcp_approval_request",
            "server_label": self.label,
            "name": call.name,
            "arguments": call.arguments,
        }

    def input_item(self, message: Message) -> list[dict[str, Any]]:
        """Return a message of the input as items."""
        if message.role == "tool":
            output = {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}
            return [{"id": item_id("fc", self.conversation, message.id), "status": "completed", **output}]
        if message.role == "assistant":
            said = [self.message(message.id, message.content, "completed")] if message.content else []
            return [*said, *(self.function_call(call, "completed") for call in message.tool_calls)]
        parts: list[dict[str, Any]] = [{"type": "input_text", "text": message.content}] if message.content else []
        for file in message.attachments:
            identity = file_id(uuid.UUID(file.id))
            if file.is_image:
                parts.append({"type": "input_image", "detail": "auto", "file_id": identity, "image_url": None})
            else:
                parts.append({"type": "input_file", "file_id": identity, "filename": file.name})
        identity = item_id("msg", self.conversation, message.id)
        return [{"id": identity, "type": "message", "status": "completed", "role": "user", "content": parts}]

    def output(
        self,
        messages: Sequence[Message],
        *,
        pending: Collection[str] = (),
        waiting: Collection[str] = (),
        failed: Collection[str] = (),
        added: Mapping[str, Any] = NOTHING_ADDED,
    ) -> list[dict[str, Any]]:
        """Return the messages that a run has added as items.

        Args:
            pending: the ids of the caller's own calls that it ended with.
            waiting: those of the calls that wait for approval.
            failed: those of the calls of the server's tools that failed, or were refused.
            added: what optional apps annotate in the answers, by their names.
        """
        results = {one.tool_call_id: one.content for one in messages if one.role == "tool"}
        told: dict[str, dict[str, Any]] = {}
        for name, value in added.items():
            told.setdefault(value["messageId"], {})[name] = value
        items: list[dict[str, Any]] = []
        own: list[dict[str, Any]] = []
        approvals: list[dict[str, Any]] = []
        for message in (one for one in messages if one.role == "assistant"):
            if message.reasoning:
                items.append(self.reasoning(message.id, message.reasoning, "completed"))
            if message.content:
                status = "incomplete" if message.is_partial else "completed"
                items.append(
                    self.message(message.id, message.content, status, annotations_in(told.get(message.id, {})))
                )
            for call in message.tool_calls:
                if call.id in pending:
                    own.append(self.function_call(call, "completed"))
                elif call.name not in self.own_tools:
                    output = results.get(call.id)
                    status = "incomplete" if output is None else "failed" if call.id in failed else "completed"
                    items.append(self.server_call(call, status, output))
                if call.id in waiting:
                    approvals.append(self.approval_request(call))
        return [*items, *own, *approvals]


def text_part(text: str, annotations: Sequence[Annotation] = ()) -> dict[str, Any]:
    return {
        "type": "output_text",
        "text": text,
        "annotations": [annotation_part(one) for one in annotations],
        "logprobs": [],
    }


def annotation_part(annotation: Annotation) -> dict[str, Any]:
    """Return an annotation: a link, or a passage as a file."""
    if annotation.url:
        place = {"start_index": annotation.start, "end_index": annotation.end}
        return {"type": "url_citation", **place, "title": annotation.title, "url": annotation.url}
    named = {"file_id": annotation.document, "filename": annotation.title}
    return {"type": "file_citation", **named, "index": annotation.end}


def ids_of(interrupts: Iterable[Any]) -> frozenset[str]:
    """Return the ids of the calls of a run's stored interrupts."""
    return frozenset(str(one.get("toolCallId") or one.get("id")) for one in interrupts if isinstance(one, dict))
