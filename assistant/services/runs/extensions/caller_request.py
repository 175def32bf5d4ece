"""What the program that begins a run asks of its requests to the model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assistant.core.extensions.request_choice import RequestChoice
from assistant.core.turn.plan import Plan
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.run_input import CallerSettings


@dataclass(frozen=True)
class CallerRequest(RunExtension[None]):
    """Sends what was asked for with the requests.

    Attributes:
        has_type: whether the answer of the run has a type, which has precedence.
    """

    asked: CallerSettings
    has_type: bool = False

    def planned(self, plan: Plan) -> Plan:
        asked = self.asked
        plan = replace(plan, settings=replace(plan.settings, options={**plan.settings.options, **asked.options}))
        response_format = None if self.has_type else asked.response_format
        if not (asked.tool_choice or response_format):
            return plan
        return replace(plan, extensions=(RequestChoice(asked.tool_choice, response_format), *plan.extensions))
