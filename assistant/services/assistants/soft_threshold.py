"""The model that answers in place of others once a tenant has spent a set part of its monthly limit of cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models import Q
from django.utils import timezone

from assistant.core.values.quota_kinds import LimitUse
from assistant.models import Assistant, Provider, QuotaUse, TenantLimits
from assistant.services.assistants.provider_choice import ProviderChoice, choice_of
from assistant.services.limits.quota_ledger import current_use, recounted
from assistant.services.tenancy.quotas import Quotas


@dataclass(frozen=True, slots=True)
class SoftModel:
    """What answers in place of an assistant's own choice: a provider, or None for the same one, and its model."""

    provider: Provider | None
    model: str

    def instead_of(self, choice: ProviderChoice, assistant: Assistant) -> ProviderChoice:
        """Return what answers in place of `choice`. That is `choice` where no language model would answer anyway."""
        if self.provider is not None:
            return choice_of("soft threshold", self.provider, assistant, model=self.model)
        if choice.source in ("embedded", "stand-in"):
            return choice
        return replace(choice, source="soft threshold", model=self.model)


def soft_model(*, assistant: Assistant, quotas: Quotas, reserved: int = 0) -> SoftModel | None:
    """Return what answers for a tenant that has reached its soft threshold; None below it. Two queries, none without.

    Args:
        assistant: loaded with its tenant and the tenant's limits.
        reserved: the cost in millionths that was reserved for the asking run, and does not count.
    """
    limits: TenantLimits | None = getattr(assistant.tenant, "limits", None)
    cap = quotas.tenant.cost_per_month
    if limits is None or not limits.soft_percent or not cap:
        return None
    now = timezone.now()
    stored = QuotaUse.objects.filter(tenant_id=assistant.tenant_id, user=None).first()
    # There is no counter after a change of limits, until a run is opened.
    use = recounted(assistant.tenant_id, None, now) if stored is None else current_use(stored, now)
    if not LimitUse(use.month_cost - reserved, cap).has_reached(limits.soft_percent):
        return None
    # A provider of another tenant is never used, even if a row refers to it.
    allowed = Provider.objects.filter(Q(tenant=None) | Q(tenant_id=assistant.tenant_id))
    provider = allowed.filter(pk=limits.soft_provider_id).first() if limits.soft_provider_id else None
    return SoftModel(provider, limits.soft_model) if provider is not None or limits.soft_model else None
