"""How the tools of a run are called: one value, which its turn, its batches and the assistants that it asks share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from assistant.core.llm.protocol import Model
from assistant.core.values.messages import Reply
from assistant.toolkit import Callback, Tool, ToolContext
from assistant.toolkit.calls.stopping import GRACE_SECONDS

# Whether the calls of a reply are run.
ExecuteTools = bool | Callable[[Reply, ToolContext[Any]], Awaitable[bool] | bool]

# Takes what a tool has raised, its name and its context.
OnRaised = Callable[[Exception, str, ToolContext[Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Questions:
    """Which questions reach a person.

    Attributes:
        can_ask: whether a person can be asked for approvals.
        has_forms: whether the answer to a question with a form can come back too. If not, tools that ask are left out.
        midway: whether the questions of running tools (`NeedsAnswer`) reach a person, whose answer comes back.
        seconds: the time to answer; 0 for any.
    """

    can_ask: bool = True
    has_forms: bool = True
    midway: bool = False
    seconds: float = 0.0


NOBODY = Questions(can_ask=False)


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How the tools of a run are called.

    Attributes:
        parallel: how many calls run at once.
        default_timeout: in seconds, for tools that set none.
        grace: how many seconds a cancelled tool, or what else is stopped, may take to clean up.
        questions: which reach a person.
        callbacks: returns where the result of a call with an id may come to later; None if the run cannot go on then.
        observe: wraps the models of assistants that are called as tools.
        execute: whether tools are run; if not, the turn ends with the model's calls. Or a function of the reply and the
            context that says so for each reply with calls; without an answer they are not run.
        keep_ids: use the provider's call ids where they are unique in the turn's messages, which must then be the whole
            thread, since many providers count from 0 in every answer. If false, all ids are generated.
        on_raised: told of each exception of a tool, or of what stands around it, before the call has its outcome.
    """

    parallel: int = 8
    default_timeout: float = 30.0
    grace: float = GRACE_SECONDS
    questions: Questions = Questions()
    callbacks: Callable[[str], Callback] | None = None
    observe: Callable[[Model], Model] | None = None
    execute: ExecuteTools = True
    keep_ids: bool = False
    on_raised: OnRaised | None = None

    def serves(self, tool: Tool) -> bool:
        """Return whether a person can answer a tool's questions, and its result may come later, if it needs that."""
        has_person = self.questions.can_ask and self.questions.has_forms
        return (has_person or tool.asks is None) and (self.callbacks is not None or not tool.waits)


USUAL = CallSettings()
