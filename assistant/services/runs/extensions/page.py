"""What a client says of its page: the model reads it with its question, and tools share its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assistant.core.turn.plan import Plan
from assistant.core.values.messages import Message
from assistant.core.values.untrusted import fenced
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.input.page_context import Page

PAGE = "what the page says that the user is on"


@dataclass(frozen=True)
class PageState(RunExtension[None]):
    """Gives the tools of a run the state of its client's page."""

    state: Any

    def planned(self, plan: Plan) -> Plan:
        if plan.context.shared_state is not None:
            plan.context.shared_state.begin(self.state)
        return plan


def with_page(history: Sequence[Message], page: Page) -> tuple[Message, ...]:
    """Return a conversation with the client's context and state, which its assistant takes, at its last question.

    Not as a message of its own, because some chat templates refuse two. The text is put between markers. It does not
    mark the conversation as untrusted; but a destination is not trusted for being in it, since tools write into the
    state.
    """
    text = page.text
    for place in range(len(history) - 1, -1, -1) if text else ():
        if (asked := history[place]).role == "user":
            return (*history[:place], replace(asked, page=fenced(text, PAGE)), *history[place + 1 :])
    return tuple(history)
