"""Counts what embedding costs: the tokens that a provider has counted, as usage of the tenant."""

from __future__ import annotations

import logging

from assistant.core.values.messages import Usage
from assistant.core.values.pricing import read_prices
from assistant.models import Provider, UsageEntry
from assistant.services.limits.usage import columns_of

logger = logging.getLogger(__name__)


def count_tokens(*, tenant_id: int, provider: Provider | None, model: str, tokens: int) -> None:
    """Store what a provider has counted, with its cost by the provider's own prices; nothing for this machine's."""
    if provider is None or not tokens:
        return
    usage = Usage(input_tokens=tokens)
    try:
        usage = read_prices(provider.prices or {}).priced(usage, model)
    except ValueError:
        logger.warning("The prices of provider %s cannot be read", provider.pk)
    UsageEntry.objects.create(
        tenant_id=tenant_id,
        provider=provider.name,
        model=model,
        purpose=UsageEntry.Purpose.EMBEDDING,
        **columns_of(usage),
    )
