"""Makes the model that takes over in a run, from what was chosen for that."""

from __future__ import annotations

from assistant.core.turn.plan import Fallback
from assistant.services.assistants.provider_choice import ProviderChoice, model_of
from assistant.services.toolcalls.interceptors import with_interceptors


def fallback_model(choice: ProviderChoice, *, tenant: str) -> Fallback:
    """Return the model of a choice with its prices, traced and with the deployment's interceptors."""
    return Fallback(with_interceptors(model_of(choice), tenant=tenant), choice.prices)
