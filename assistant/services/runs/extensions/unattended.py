"""Runs in which nobody can be asked, or not about everything that tools ask."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assistant.core.toolcalls.call_settings import Questions
from assistant.core.turn.plan import Plan
from assistant.services.runs.extensions.run_extension import RunExtension


@dataclass(frozen=True)
class Unattended(RunExtension[None]):
    """Says which questions reach a person; where it does not act, all do."""

    questions: Questions

    def planned(self, plan: Plan) -> Plan:
        return replace(plan, calls=replace(plan.calls, questions=self.questions))
