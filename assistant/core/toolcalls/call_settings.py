"""How the tools of a run are called: one value, which its turn, its batches and the assistants that it asks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assistant.core.llm.protocol import Model
from assistant.toolkit import Callback
from assistant.toolkit.calls.stopping import GRACE_SECONDS


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
    """

    parallel: int = 8
    default_timeout: float = 30.0
    grace: float = GRACE_SECONDS
    questions: Questions = Questions()
    callbacks: Callable[[str], Callback] | None = None
    observe: Callable[[Model], Model] | None = None


USUAL = CallSettings()
