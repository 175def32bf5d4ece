"""Makes calls of an answer that is the call of a tool as text, because the server does not read its notation."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace

from assistant.core.llm.protocol import Delta, FailureDetails, ModelError, TextDelta
from assistant.core.values.messages import Reply, ToolCall
from assistant.providers.call_notations import NotACall, Schemas, begins_call, read_calls
from assistant.toolkit import Tool
from assistant.toolkit.translation import gettext_noop

WRITTEN = gettext_noop("The model wrote the call of a tool as text, and it could not be run.")
# Characters of such an answer, and of white space before it.
MAX_HELD = 65_536
MAX_BLANK = 200


class WrittenCalls:
    """Looks at how the text of one answer begins, and holds it back if that is a call.

    Args:
        tools: those that were offered; None to leave calls in the text.

    Attributes:
        is_idle: whether the text is none, so that no more of it needs to be looked at.
    """

    def __init__(self, tools: Iterable[Tool] | None) -> None:
        self.is_idle = tools is None
        self._tools = tools or ()
        self._held = ""
        self._size = 0
        self._is_call = False

    def passed(self, deltas: Iterable[Delta]) -> Iterator[Delta]:
        """Yield the deltas that may be shown."""
        for delta in deltas:
            if self.is_idle or not isinstance(delta, TextDelta):
                yield delta
                continue
            self._size += len(delta.text)
            if not self._is_call:
                self._held += delta.text
                yield from self._looked_at()

    def _looked_at(self) -> Iterator[Delta]:
        text = self._held.lstrip()
        begins = begins_call(text) if text else None
        self._is_call = begins is True
        if begins is False or len(self._held) - len(text) > MAX_BLANK:
            yield from self.released()

    def released(self) -> Iterator[Delta]:
        """Yield what was held back, unless it is a call, since the text ends here or is none."""
        text, self._held = self._held, ""
        self.is_idle = True
        if text and not self._is_call:
            yield TextDelta(text)

    def finished(self, reply: Reply) -> tuple[list[Delta], Reply]:
        """Return the deltas that were held back, and the reply, in which calls in the text are calls.

        Raises:
            ModelError: the text begins with a call that cannot be run.
        """
        if not self._is_call:
            return list(self.released()), reply
        if self._size > MAX_HELD:
            raise _failure("it is too long")
        schemas: Schemas = {tool.name: tool.parameters for tool in self._tools}
        try:
            calls, rest = read_calls(reply.text.strip(), schemas)
        except NotACall as exc:
            if not reply.tool_calls:  # which a server may send beside the text
                raise _failure(str(exc)) from None
            calls, rest = [], ""
        if reply.finish_reason not in ("stop", "tool_calls"):
            raise _failure(f"the answer was cut ({reply.finish_reason})")
        rest = rest.strip()
        made = reply.tool_calls or tuple(
            ToolCall(f"call_{uuid.uuid4().hex[:24]}", call.name, call.arguments) for call in calls
        )
        state = reply.provider_state if reply.tool_calls else ""
        has_read = not reply.tool_calls
        return [TextDelta(rest)] if rest else [], replace(
            reply, text=rest, tool_calls=made, finish_reason="tool_calls", provider_state=state, has_read_calls=has_read
        )


def _failure(problem: str) -> ModelError:
    error = ModelError(WRITTEN, kind="written_call")
    error.details = FailureDetails(code="written_call", message=f"A call in the text was not run: {problem}.")
    return error
