"""Requests that are sent again: the first one's answer is kept for a day, and given to whoever repeats it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from assistant.models import IdempotentAnswer, Run, Tenant
from assistant.services.tenancy.members import Member
from assistant.toolkit.context import UserId

LIFETIME = timedelta(hours=24)
# A request that has started no run in this time, and has no answer: its process died.
ABANDONED = timedelta(seconds=60)
_KEY = re.compile(r"[!-~]{1,255}")


class KeyReused(Exception):
    """The key was sent before, with another request or while its first is still being answered."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A request with an idempotency key: the answer that it got before, or the right to answer it now."""

    pk: int
    status: int | None = None
    body: Any = None


def fingerprint(*, method: str, path: str, body: Any) -> str:
    """What tells two requests apart: SHA-256 of the method, the address and the body's values."""
    canonical = json.dumps([method, path, body], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def claim(*, member: Member, key: str, fingerprint: str, run_id: str = "") -> Claim:
    """Take a key for a request, or find the answer that the same request got before.

    `run_id` is that of the run which the request starts, the same each time it is sent: once that has ended, whoever
    sends the request again need not wait for a process that died before it answered.

    Raises:
        ValueError: the key is not 1 to 255 printable ASCII characters without spaces.
        KeyReused: it belongs to another request, or the first is still being answered.
    """
    if not _KEY.fullmatch(key):
        raise ValueError("Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.")
    _forget_old(member.tenant_id, member.user_id)
    try:
        with transaction.atomic():
            row = IdempotentAnswer.objects.create(
                tenant_id=member.tenant_id, user_id=member.user_id, key=key, fingerprint=fingerprint
            )
    except IntegrityError:
        return _known(member, key, fingerprint, run_id)
    return Claim(row.pk)


def claim_form(*, tenant_id: int, user_id: UserId, nonce: str) -> bool:
    """Take a form's nonce; False if it was taken before, in the last `LIFETIME`.

    To be called in the transaction of what the form makes.
    """
    _forget_old(tenant_id, user_id)
    # The space keeps it apart from the keys of requests, which have none.
    _, is_new = IdempotentAnswer.objects.get_or_create(tenant_id=tenant_id, user_id=user_id, key=f"form {nonce}")
    return is_new


def is_form_claimed(*, tenants: QuerySet[Tenant], user_id: UserId, nonce: str) -> bool:
    """Whether the nonce was taken for one of these tenants."""
    return IdempotentAnswer.objects.filter(tenant__in=tenants, user_id=user_id, key=f"form {nonce}").exists()


def _forget_old(tenant_id: int, user_id: UserId) -> None:
    own = IdempotentAnswer.objects.filter(tenant_id=tenant_id, user_id=user_id)
    own.filter(created_at__lt=timezone.now() - LIFETIME).delete()


def _known(member: Member, key: str, fingerprint: str, run_id: str) -> Claim:
    row = IdempotentAnswer.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, key=key).first()
    if row is not None and row.fingerprint != fingerprint:
        raise KeyReused("This Idempotency-Key was sent before, with another request.")
    if row is None or (row.status is None and not _is_abandoned(member, row, run_id)):
        raise KeyReused("The first request with this Idempotency-Key is still being answered.")
    return Claim(row.pk, row.status, row.body)


def _is_abandoned(member: Member, row: IdempotentAnswer, run_id: str) -> bool:
    """Whether nobody works on a request any more; if somebody does after all, both find the same run."""
    own = Run.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, run_id=run_id)
    status = own.values_list("status", flat=True).first() if run_id else None
    if status is None:
        return row.created_at < timezone.now() - ABANDONED
    return status != Run.Status.RUNNING


def keep(*, member: Member, claim: Claim, status: int, body: Mapping[str, Any] | None) -> None:
    """Keep a successful answer for whoever repeats the request."""
    _claimed(member, claim).update(status=status, body=body)


def release(*, member: Member, claim: Claim) -> None:
    """Nothing was done: the key may be used again."""
    _claimed(member, claim).delete()


def _claimed(member: Member, claim: Claim) -> Any:
    return IdempotentAnswer.objects.filter(pk=claim.pk, tenant_id=member.tenant_id, user_id=member.user_id)
