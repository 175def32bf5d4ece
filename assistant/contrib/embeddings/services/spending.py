"""Counts what embedding costs: the tokens that a provider has counted, as usage and towards quotas of the tenant."""

from __future__ import annotations

import logging

from django.db import transaction
from django.utils import timezone

from assistant.core.values.messages import Usage
from assistant.core.values.pricing import read_prices
from assistant.models import Provider, UsageEntry
from assistant.services.limits.quota_ledger import settle
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
    with transaction.atomic():
        spent = (usage.total_tokens, usage.cost)
        settle(tenant_id=tenant_id, user_id=None, began_at=timezone.now(), reserved=(0, 0), spent=spent)
        UsageEntry.objects.create(
            tenant_id=tenant_id,
            provider=provider.name,
            model=model,
            purpose=UsageEntry.Purpose.EMBEDDING,
            **columns_of(usage),
        )
