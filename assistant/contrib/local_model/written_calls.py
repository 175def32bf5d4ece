"""Makes calls of an answer that has the calls of tools as text, because the server does not read their notation."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from assistant.contrib.local_model.call_notations import (
    BEGINNINGS,
    LOOKED_AT,
    NotACall,
    Schemas,
    WrittenCall,
    beginning_of,
    read_calls,
)
from assistant.core.llm.protocol import Delta, FailureDetails, ModelError, TextDelta
from assistant.core.values.messages import Reply, ToolCall
from assistant.providers.answers import TextReading
from assistant.toolkit import Tool
from assistant.toolkit.translation import gettext_noop

WRITTEN = gettext_noop("The model wrote the call of a tool as text, and it could not be run.")
# Characters of such a text that are held back, and of white space before it.
MAX_HELD = 65_536
MAX_BLANK = 200
# Characters of a call within which its tool is named; a text that names none until then is passed on.
MAX_BEFORE_NAME = 400
# Brackets of an answer that are looked at, and calls in its code, each of which takes time proportional to the text
# before it. What follows is text.
MAX_BRACKETS = 5_000
MAX_IN_CODE = 100


class WrittenCalls(TextReading):
    """Looks for a call in the text of one answer, and holds it back up to the end.

    An answer that begins with the mark of a call is meant as one. Anything else is a call only if it names an offered
    tool, can be read, and ends the answer; else it is text.

    Args:
        tools: those that were offered.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.is_idle = False
        self._schemas: Schemas = {tool.name: tool.parameters for tool in tools}
        # What was passed on, and what was not.
        self._shown: list[str] = []
        self._held = ""
        self._more: list[str] = []
        self._size = 0
        self._has_begun = False
        self._is_call = self._is_whole = self._is_named = False
        self._brackets = 0
        self._in_code = 0

    def passed(self, deltas: Iterable[Delta]) -> Iterator[Delta]:
        """Yield the deltas that may be shown."""
        for delta in deltas:
            if self.is_idle or not isinstance(delta, TextDelta):
                yield delta
            elif self._is_call:
                yield from self._hold(delta.text)
            elif not self._held and self._has_begun and BEGINNINGS.search(delta.text) is None:
                self._shown.append(delta.text)
                yield delta
            else:
                self._held += delta.text
                yield from self._looked_at()

    def passing(self, on_text: Callable[[str], bool]) -> Callable[[str], bool]:
        """Return `on_text` for text that cannot belong to a call; it returns False for any other."""

        def pass_text(text: str) -> bool:
            if self.is_idle:
                return on_text(text)
            if self._held or not self._has_begun or BEGINNINGS.search(text) is not None or not on_text(text):
                return False
            self._shown.append(text)
            return True

        return pass_text

    def _hold(self, text: str) -> Iterator[Delta]:
        self._size += len(text)
        if self._size <= MAX_HELD:
            self._more.append(text)
            if self._is_whole or self._is_named or self._size < MAX_BEFORE_NAME:
                return
            held = "".join((self._held, *self._more))
            self._is_named = any(name in held for name in self._schemas)
            if self._is_named:
                return
            text = self._more.pop()
        if not self._is_whole:
            held = "".join((self._held, *self._more, text))
            self._shown.append(held)
            self._held = ""
            self._more = []
            self._is_call = False
            yield TextDelta(held)

    def _looked_at(self) -> Iterator[Delta]:
        if not self._has_begun:
            text = self._held.lstrip()
            if not text and len(self._held) <= MAX_BLANK:
                return
            if len(self._held) - len(text) <= MAX_BLANK:
                found = beginning_of(text, self._schemas, begins_line=True)
                if found.is_call is None:
                    return
                self._is_call = found.is_call
                self._is_whole = found.is_call and found.is_marked
            self._has_begun = True
            if self._is_call:
                self._size = len(self._held)
                return
        yield from self._searched()

    def _searched(self) -> Iterator[Delta]:
        """Pass on the text up to where a call begins, or may begin."""
        if not self._schemas:
            self.is_idle = True
        text = self._held
        at = len(self._held)
        for found in BEGINNINGS.finditer(text) if self._schemas else ():
            self._brackets += 1
            if self._brackets > MAX_BRACKETS or self._in_code > MAX_IN_CODE:
                self.is_idle = True
                break
            is_call = self._begins_call(text, found.start())
            if is_call is not False:
                at = found.start()
                self._is_call = bool(is_call)
                self._is_named = False
                break
        self._held = text[at:]
        self._size = len(text) - at
        if at:
            self._shown.append(text[:at])
            yield TextDelta(text[:at])

    def _begins_call(self, text: str, at: int) -> bool | None:
        """Return whether a call begins at a position of the text that is held back."""
        if text[at] == "`" and (text[at - 1] if at else "".join(self._shown[-1:])[-1:] or "\n") != "\n":
            return False  # most of them are of code within a line
        rest = text[at : at + LOOKED_AT]
        found = beginning_of(rest, self._schemas, begins_line=True)
        if found.is_call is False:
            return False
        before = "".join((*self._shown, text[:at]))
        line = before.rpartition("\n")[2]
        if line.strip():
            found = beginning_of(rest, self._schemas, begins_line=False)
        is_code = before.count("```") % 2 == 1 or line.replace("```", "").count("`") % 2 == 1
        self._in_code += is_code
        return False if is_code else found.is_call

    def released(self) -> Iterator[Delta]:
        """Yield what was held back, unless it is a call, since the text ends here."""
        text = self._held
        self._held = ""
        self.is_idle = True
        if text and not self._is_call:
            yield TextDelta(text)

    def finished(self, reply: Reply) -> tuple[list[Delta], Reply]:
        """Return the deltas that were held back, and the reply, in which calls in the text are calls.

        Raises:
            ModelError: the text begins with the mark of a call that cannot be run.
        """
        if not self._is_call:
            return list(self.released()), reply
        if self._is_whole:
            return self._read_whole(reply)
        held = "".join((self._held, *self._more))
        try:
            calls, rest = read_calls(held.strip(), self._schemas)
        except NotACall:
            calls = []
            rest = held
        if rest.strip() or reply.finish_reason not in ("stop", "tool_calls"):
            return [TextDelta(held)], reply
        return [], self._with_calls(reply, "".join(self._shown), calls)

    def _read_whole(self, reply: Reply) -> tuple[list[Delta], Reply]:
        if self._size > MAX_HELD:
            raise _failure("it is too long")
        try:
            calls, rest = read_calls(reply.text.strip(), self._schemas)
        except NotACall as exc:
            if not reply.tool_calls:  # which a server may send beside the text
                raise _failure(str(exc)) from None
            calls = []
            rest = ""
        if reply.finish_reason not in ("stop", "tool_calls"):
            raise _failure(f"the answer was cut ({reply.finish_reason})")
        rest = rest.strip()
        return [TextDelta(rest)] if rest else [], self._with_calls(reply, rest, calls)

    @staticmethod
    def _with_calls(reply: Reply, text: str, calls: Iterable[WrittenCall]) -> Reply:
        """Return the reply with these calls, unless the server has sent some too, and with this text."""
        made = reply.tool_calls or tuple(
            ToolCall(f"call_{uuid.uuid4().hex[:24]}", call.name, call.arguments) for call in calls
        )
        return replace(
            reply,
            text=text,
            tool_calls=made,
            finish_reason="tool_calls",
            provider_state=reply.provider_state if reply.tool_calls else "",
            has_read_calls=not reply.tool_calls,
        )


def _failure(problem: str) -> ModelError:
    error = ModelError(WRITTEN, kind="written_call")
    error.details = FailureDetails(code="written_call", message=f"A call in the text was not run: {problem}.")
    return error
