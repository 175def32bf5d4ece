"""Where a run begins: at its start, or where the process that began it died or stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.core.conversation.transcript import Transcript
from assistant.core.turn.plan import Plan
from assistant.core.values.events import Event
from assistant.core.values.history_window import estimate, estimate_tokens
from assistant.core.values.messages import Message, Usage, not_superseded


@dataclass(frozen=True, slots=True)
class RunStart:
    """Where a run begins or goes on.

    Attributes:
        transcript: what it has made so far.
        seq: the number of its last event.
        is_started: whether it has written `RUN_STARTED`.
        is_resumed: whether another process has begun to answer.
        events: those that end the step at which it was cut; they are in the transcript, and not written yet.
        cut: the messages of that step.
    """

    transcript: Transcript = field(default_factory=Transcript)
    seq: int = 0
    is_started: bool = False
    is_resumed: bool = False
    events: Sequence[Event] = ()
    cut: Sequence[Message] = ()

    def count_cut_step(self, plan: Plan) -> None:
        """Count the request to the model that was cut: an estimate, as its process did not see what it used."""
        sent = sum(map(estimate, [*plan.messages, *not_superseded(self.transcript.messages)]))
        written = sum(estimate_tokens(one.content) + estimate_tokens(one.reasoning) for one in self.cut)
        model = plan.model
        usage = plan.settings.prices.priced(Usage(sent, written, is_estimated=True), model.name, model.name)
        self.transcript.add_usage(model.provider, model.name, usage)
