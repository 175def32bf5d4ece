"""What the program that begins a run asks of its requests to the model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assistant.core.turn.plan import Plan
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.run_input import CallerSettings


@dataclass(frozen=True)
class CallerRequest(RunExtension[None]):
    """Sends what was asked for with the requests; the assistant's own type of answer has precedence."""

    plans = True
    asked: CallerSettings

    def planned(self, plan: Plan) -> Plan:
        options = {**plan.settings.options, **self.asked.options}
        return replace(
            plan,
            settings=replace(plan.settings, options=options),
            tool_choice=self.asked.tool_choice,
            response_format=None if plan.settings.answer_schema else self.asked.response_format,
        )
