"""Hides personal data and keys from models, in what they are sent."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from assistant.client.redaction import MARK, PRIVATE, Redaction
from assistant.core.extensions.extension import Extension, ExtensionRun
from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message, ToolCall
from assistant.core.values.untrusted import is_summary


class RedactPrompts(Extension[None]):
    """Hides personal data from models: in all that they are sent but the system prompt, for summaries and titles too.

    The conversation itself, and the arguments that tools get, stay as they are. Files are not looked into. A turn that
    cannot be redacted ends.

    Args:
        patterns: regular expressions of what is hidden; by default e-mail addresses, long numbers and keys.
        mark: stands in their place.
    """

    guards = True
    in_sub_agents = True

    def __init__(self, *patterns: str | re.Pattern[str], mark: str = MARK) -> None:
        self._redaction = Redaction(patterns or PRIVATE, mark)

    async def before_request(self, run: ExtensionRun[None], request: ModelRequest) -> ModelRequest:
        return await self.before_aside(request)

    async def before_aside(self, request: ModelRequest) -> ModelRequest:
        return replace(request, messages=[self._redacted(message) for message in request.messages])

    def _redacted(self, message: Message) -> Message:
        if message.role == "system" and not is_summary(message):
            return message
        return replace(
            message,
            content=self._redaction.text(message.content),
            page=self._redaction.text(message.page),
            tool_calls=tuple(self._call(call) for call in message.tool_calls),
        )

    def _call(self, call: ToolCall) -> ToolCall:
        try:
            arguments = json.dumps(self._redaction.value(json.loads(call.arguments)), ensure_ascii=False)
        except (ValueError, RecursionError):
            arguments = self._redaction.text(call.arguments)
        return replace(call, arguments=arguments)
