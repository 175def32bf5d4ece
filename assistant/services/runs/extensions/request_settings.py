"""What a run asks of its requests to the model, and of people: extensions that change its plan alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assistant.core.extensions.request_choice import RequestChoice
from assistant.core.extensions.typed_answer import typed_as
from assistant.core.toolcalls.call_settings import Questions
from assistant.core.turn.plan import Plan
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.run_input import CallerSettings


@dataclass(frozen=True)
class CallerRequest(RunExtension[None]):
    """Sends what the program that begins a run asked for with the requests.

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


@dataclass(frozen=True)
class TypedAnswers(RunExtension[None]):
    """Has the answer of a run be of a JSON Schema: the client's, or else the assistant's own."""

    schema: Mapping[str, Any]

    def planned(self, plan: Plan) -> Plan:
        """Return the plan with the type of its answer. Raises `ValueError` for a schema that can be none."""
        return replace(plan, extensions=(*typed_as(self.schema, plan.model), *plan.extensions))


@dataclass(frozen=True)
class Unattended(RunExtension[None]):
    """Says which questions reach a person, where nobody can be asked, or not everything; without it all do."""

    questions: Questions

    def planned(self, plan: Plan) -> Plan:
        return replace(plan, calls=replace(plan.calls, questions=self.questions))
