"""Chooses the provider and model that take over when the first cannot answer: the assistant's, else the tenant's."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from django.db.models import Q

from assistant.models import Assistant, Provider, Tenant
from assistant.services.assistants.provider_choice import ProviderChoice, choice_of

logger = logging.getLogger(__name__)


def fallback_of(
    *,
    assistant: Assistant,
    choice: ProviderChoice,
    own: ProviderChoice,
    providers: Mapping[int, Provider] | None = None,
) -> ProviderChoice | None:
    """Return what takes over when `choice` cannot answer; None if nothing does. One query if a provider is set.

    Args:
        assistant: as `with_prompt` has read it.
        own: what the assistant itself chooses, whose provider a fallback without one means. It differs from `choice`
            beyond the soft threshold of cost.
        providers: those that the tenant may use, by id, if the caller has read them. Saves the query.
    """
    has_own = assistant.fallback_provider_id or assistant.fallback_model
    row: Assistant | Tenant = assistant if has_own else assistant.tenant
    if row.fallback_provider_id is None:
        # The models on this machine and the stand-in have no other model, and the same one would fail again.
        if not row.fallback_model or own.source in ("embedded", "stand-in"):
            return None
        found = replace(own, source="fallback", model=row.fallback_model)
    else:
        # A provider of another tenant is never used, even if a row refers to it.
        if providers is None:
            allowed = Provider.objects.filter(Q(tenant=None) | Q(tenant_id=assistant.tenant_id))
            provider = allowed.filter(pk=row.fallback_provider_id).first()
        else:
            provider = providers.get(row.fallback_provider_id)
        if provider is None:
            logger.error("The fallback of assistant %s is a provider of another tenant, not used", assistant.slug)
            return None
        found = choice_of("fallback", provider, assistant, model=row.fallback_model)
    return None if _asked(found) == _asked(choice) else found


def _asked(choice: ProviderChoice) -> tuple[str, str, str, str]:
    return choice.wire_format, choice.base_url, choice.api_key, choice.model
