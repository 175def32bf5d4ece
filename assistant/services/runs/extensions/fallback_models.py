"""The model that takes over in a run when its own cannot answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assistant.core.turn.plan import Fallback, Plan
from assistant.services.assistants.provider_choice import ProviderChoice, model_of
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.toolcalls.interceptors import with_interceptors


@dataclass(frozen=True)
class FallbackModels(RunExtension[None]):
    """Lets the model of a choice take over."""

    choice: ProviderChoice

    def planned(self, plan: Plan) -> Plan:
        return replace(plan, fallbacks=(fallback_model(self.choice, tenant=plan.context.tenant.slug),))


def fallback_model(choice: ProviderChoice, *, tenant: str) -> Fallback:
    """Return the model of a choice with its prices, traced and with the deployment's interceptors."""
    return Fallback(with_interceptors(model_of(choice), tenant=tenant), choice.prices)
