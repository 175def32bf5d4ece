"""`RunExtension`: an extension that also acts at moments of a stored run, which other turns do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.asides import model_for_asides
from assistant.core.extensions.extension import ShippedExtension, State
from assistant.core.turn.plan import Fallback, Plan
from assistant.core.values.messages import Message
from assistant.core.values.timeline import Timeline
from assistant.services.eventlog.log import EventLog
from assistant.services.run_key import RunKey
from assistant.services.tenancy.quotas import Quotas
from assistant.toolkit import Tool


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run: its plan, what it answered, the quotas that it counted towards, and the event log."""

    key: RunKey
    plan: Plan
    messages: Sequence[Message]
    timeline: Timeline
    quotas: Quotas
    log: EventLog

    @property
    def answered_by(self) -> Fallback:
        """The model that answered, with its prices: a fallback answers to the end of a turn.

        Its requests are as the extensions of the run have them sent beside the turn.
        """
        plan = self.plan
        found = plan.fallbacks[-1] if self.timeline.fallback else Fallback(plan.model, plan.settings.prices)
        return replace(found, model=model_for_asides(found.model, plan.extensions))


RUN_HOOKS = ("planned", "changed", "columns", "stored", "followed")


class RunExtension(ShippedExtension[State]):
    """An extension of one tenant's run; an instance serves one run.

    Attributes:
        run_hooks: which hooks of a stored run a subclass overrides; the others are not called.
        is_configured: whether the run's configuration, which is kept, names it.
        acts_in_turn: whether it overrides hooks of the turn too.
    """

    run_hooks: frozenset[str] = frozenset()
    is_configured: bool = False
    acts_in_turn: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.acts_in_turn = bool(cls._hooks)
        cls.run_hooks = frozenset(hook for hook in RUN_HOOKS if getattr(cls, hook) is not getattr(RunExtension, hook))

    def planned(self, plan: Plan) -> Plan:
        """Return the plan of the run, changed as this part of it needs. Called once for each plan, without a query."""
        return plan

    def changed(self, tool: Tool) -> Tool:
        """Return a tool as the run has it, for the check of an approval's edited arguments."""
        return tool

    async def columns(self, history: Sequence[Message], transcript: Transcript) -> Mapping[str, Any]:
        """Return what to store in the run's row with its end.

        Called if the answer may refer to something: it has a "[", or the provider's citations.

        Args:
            history: the messages before the run.
            transcript: what it has made.
        """
        return {}

    async def stored(self) -> None:
        """Do what follows a run whose end is stored, however it has ended. Clients do not wait for it."""

    async def followed(self, run: FinishedRun) -> None:
        """Do what follows a finished run, in the background, at a moment when no run waits for its first token."""
