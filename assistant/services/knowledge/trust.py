"""Whether what a tenant's documents say may instruct its assistants."""

from __future__ import annotations

from assistant.models import Tenant


def trusts_documents(*, tenant_id: int) -> bool:
    """Return whether the tenant declares that all of its documents were written by people whom it trusts."""
    return Tenant.objects.filter(pk=tenant_id, trusts_documents=True).exists()
