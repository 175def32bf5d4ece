"""Forms that act once, however often they are sent."""

from __future__ import annotations

from django.db.models import QuerySet

from assistant.models import IdempotentAnswer, Tenant
from assistant.services.runs.idempotency import delete_expired
from assistant.toolkit.context import UserId


def claim_form(*, tenant_id: int, user_id: UserId, nonce: str) -> bool:
    """Claim the nonce of a form; return False if it was claimed within the last `LIFETIME`.

    Call it in the transaction that handles the form.
    """
    delete_expired(tenant_id, user_id)
    # Keys of requests contain no space, so they cannot equal this one.
    _, is_new = IdempotentAnswer.objects.get_or_create(tenant_id=tenant_id, user_id=user_id, key=f"form {nonce}")
    return is_new


def is_form_claimed(*, tenants: QuerySet[Tenant], user_id: UserId, nonce: str) -> bool:
    """Whether the nonce was claimed for one of these tenants."""
    return IdempotentAnswer.objects.filter(tenant__in=tenants, user_id=user_id, key=f"form {nonce}").exists()
