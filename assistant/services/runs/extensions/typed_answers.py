"""The type that the answer of a run has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assistant.core.extensions.typed_answer import typed_as
from assistant.core.turn.plan import Plan
from assistant.services.runs.extensions.run_extension import RunExtension


@dataclass(frozen=True)
class TypedAnswers(RunExtension[None]):
    """Has the answer of a run be of a JSON Schema: the client's, or else the assistant's own."""

    schema: Mapping[str, Any]

    def planned(self, plan: Plan) -> Plan:
        """Return the plan with the type of its answer. Raises `ValueError` for a schema that can be none."""
        return replace(plan, extensions=(*typed_as(self.schema, plan.model), *plan.extensions))
