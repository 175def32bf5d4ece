"""Adds what the client says about its page to the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assistant.core.values.messages import Message
from assistant.core.values.untrusted import fenced
from assistant.services.runs.input.page_context import page_text
from assistant.services.runs.run_input import RunInput

PAGE = "what the page says that the user is on"


def with_page(history: Sequence[Message], given: RunInput) -> tuple[Message, ...]:
    """Return a conversation with the client's context and state, which its assistant takes, at its last question.

    Not as a message of its own, because some chat templates refuse two. The text is put between markers. It does not
    mark the conversation as untrusted; but a destination is not trusted for being in it, since tools write into the
    state.
    """
    text = page_text(context=given.context, state=given.state)
    for place in range(len(history) - 1, -1, -1) if text else ():
        if (asked := history[place]).role == "user":
            return (*history[:place], replace(asked, page=fenced(text, PAGE)), *history[place + 1 :])
    return tuple(history)
