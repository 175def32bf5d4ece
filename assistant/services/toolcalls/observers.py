"""Who watches tenants' runs, requests to models and tool calls: optional apps, such as one that records spans."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from assistant.core.conversation.transcript import Transcript
    from assistant.core.extensions.interceptors import CallTool, Invocation, ModelInterceptor
    from assistant.core.llm.protocol import Model
    from assistant.core.turn.plan import Plan
    from assistant.toolkit import ToolResult


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """A run that is about to be driven.

    Attributes:
        thread: the conversation's id, as the database knows it.
        replaced: the model in whose place the plan's answers, since a threshold of cost is reached; "" if none.
        failure: returns the code with which the run has failed; "" if it has not.
    """

    plan: Plan
    transcript: Transcript
    thread: str
    replaced: str
    failure: Callable[[], str]


class Observer(Protocol):
    """Watches runs, such as by spans, and changes nothing of them."""

    def around_run(self, run: ObservedRun) -> AbstractContextManager[object]:
        """Return a context manager within which the run is driven."""
        ...

    def around_requests(self, model: Model, *, tenant: str) -> ModelInterceptor:
        """Return an interceptor of the requests to a model; `tenant` is the slug."""
        ...

    async def around_call(self, invocation: Invocation, call: CallTool) -> ToolResult:
        """Be an interceptor of tool calls."""
        ...


# Dotted names of observers, by those of the functions that say whether they record anything.
NAMES: dict[str, str] = {}


def observe_with(observer: str, *, if_any: str) -> None:
    """Let an object watch all runs of this process.

    Args:
        observer: the dotted name of an `Observer`, which is imported once there is something to record.
        if_any: the dotted name of a function that returns whether anything is recorded in this process now.
    """
    NAMES[if_any] = observer
