"""Results of tool calls that come after the run has ended: another run goes on with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from assistant.contrib.later_results.services.pending_calls import callback_of
from assistant.core.turn.plan import Plan
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import RunExtension


@dataclass(frozen=True)
class ComesLater(RunExtension[None]):
    """Lets the run end with calls whose results come later.

    Attributes:
        tenant: the slug of the tenant.
    """

    key: RunKey
    tenant: str

    def planned(self, plan: Plan) -> Plan:
        return replace(plan, calls=replace(plan.calls, callbacks=partial(callback_of, self.key, self.tenant)))
