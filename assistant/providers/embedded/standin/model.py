"""The stand-in as a `Model`: chooses among the demo's tools by rules."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence

from assistant.core.llm.protocol import Delta, ModelRequest, TextDelta, ToolCallDelta
from assistant.core.values.history_window import estimate
from assistant.core.values.messages import Message, Reply, ToolCall, Usage
from assistant.core.values.untrusted import unfenced
from assistant.providers.embedded.standin.rules import Call, next_call
from assistant.providers.embedded.standin.wording import answer, small_talk

_PIECE = re.compile(r"\s*\S+\s*")
_PAUSE_SECONDS = 0.015
# What a tool's files are called in its result (`Media.sentence`); people see the files.
_FILE_NOTES = re.compile(r"^\[Attached (?:image|file) .+\]\n?", re.MULTILINE)


class StandIn:
    """Not a language model: it recognises the demo's questions, and explains itself in answer to any other."""

    name = "scripted stand-in (no language model)"
    provider = "Scripted stand-in"
    well_known_provider = "scripted"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:
        """See `Model.stream`."""
        question, results = _this_turn(request.messages)
        call = next_call(question, results, {tool.name for tool in request.tools})
        usage = Usage(input_tokens=sum(map(estimate, request.messages)))
        if call is not None:
            tool_call = ToolCall(_call_id(request.messages), call.tool, json.dumps(call.arguments))
            yield ToolCallDelta(0, id=tool_call.id, name=tool_call.name)
            yield ToolCallDelta(0, arguments=tool_call.arguments)
            output_usage = Usage(output_tokens=estimate(Message("assistant", tool_calls=(tool_call,))))
            yield Reply(
                tool_calls=(tool_call,), usage=usage + output_usage, finish_reason="tool_calls", model=self.name
            )
            return
        text = answer(question, results) if results else small_talk(question, [tool.name for tool in request.tools])
        for piece in _PIECE.findall(text):
            await asyncio.sleep(_PAUSE_SECONDS)
            yield TextDelta(piece)
        output_usage = Usage(output_tokens=estimate(Message("assistant", text)))
        yield Reply(text=text, usage=usage + output_usage, model=self.name)


def _this_turn(messages: Sequence[Message]) -> tuple[str, list[tuple[Call, str]]]:
    """Return the last user message, and the calls made since then with their results."""
    start = max((i for i, message in enumerate(messages) if message.role == "user"), default=len(messages))
    question = messages[start].content if start < len(messages) else ""
    results = {
        message.tool_call_id: _FILE_NOTES.sub("", unfenced(message.content))
        for message in messages[start:]
        if message.role == "tool"
    }
    done = [
        (Call(call.name, json.loads(call.arguments)), results[call.id])
        for message in messages[start:]
        for call in message.tool_calls
        if call.id in results
    ]
    return question, done


def _call_id(messages: Sequence[Message]) -> str:
    return f"call-{sum(len(message.tool_calls) for message in messages) + 1}"
