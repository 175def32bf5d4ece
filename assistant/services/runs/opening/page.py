"""Gives the model what the client says of its page, and notes what of the input is not used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assistant.core.values.messages import Message
from assistant.core.values.untrusted import fenced
from assistant.models import Assistant
from assistant.services.runs.input.page_context import page_text
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.runs.run_input import RunInput
from assistant.services.toolpolicy import catalogue

PAGE = "what the page says that the user is on"


def with_page(setup: RunSetup, given: RunInput, assistant: Assistant) -> RunSetup:
    """Return a setup with the client's context and state, if the assistant takes them, and what is ignored.

    The page is as trusted as the user: its text stands between markers, and marks nothing as untrusted.
    """
    text = page_text(context=given.context, state=given.state)
    history = _with_text(setup.history, text) if text and assistant.takes_context else setup.history
    return replace(setup, history=history, state=given.state, ignored=tuple(_ignored(given, text, assistant)))


def _with_text(history: Sequence[Message], text: str) -> tuple[Message, ...]:
    """Add the text to the last question; not as a message of its own, because some chat templates refuse two."""
    for place in range(len(history) - 1, -1, -1):
        if (asked := history[place]).role == "user":
            said = replace(asked, content=f"{fenced(text, PAGE)}\n\n{asked.content}")
            return (*history[:place], said, *history[place + 1 :])
    return tuple(history)


def _ignored(given: RunInput, text: str, assistant: Assistant) -> list[str]:
    parts = ["messages of the roles system and developer"] if given.has_instructions else []
    if text and not assistant.takes_context:
        parts.append("context and state")
    if any(tool.name in catalogue.registry() for tool in given.client_tools):
        parts.append("tools with the name of a tool of the server")
    return parts
