"""Idempotency keys: a repeated request gets the answer of the first one, which is stored for a day."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from assistant.models import IdempotentAnswer, Run
from assistant.models.runs import ACTIVE
from assistant.services.tenancy.members import Member
from assistant.toolkit.context import UserId

LIFETIME = timedelta(hours=24)
# A request that has neither an answer nor a run after this time counts as abandoned: its process has died.
ABANDONED_AFTER = timedelta(seconds=60)
_KEY = re.compile(r"[!-~]{1,255}")


class KeyReused(Exception):
    """The key was sent before with another request, or its first request is still being answered."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A request's claim of its key. `status` and `body` are the stored answer; `status` is None without one."""

    pk: int
    status: int | None = None
    body: Any = None


def fingerprint(*, method: str, path: str, body: Any) -> str:
    """Return the SHA-256 of a request's method, path and JSON body."""
    canonical = json.dumps([method, path, body], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def claim(*, member: Member, key: str, fingerprint: str, run_id: str = "") -> Claim:
    """Claim a key for a request, or find the answer that the same request got before.

    Args:
        run_id: the id of the run that the request starts, the same for each repetition. If that run has ended without
            an answer being stored, the request can be repeated without waiting for `ABANDONED_AFTER`.

    Raises:
        ValueError: the key is not 1 to 255 printable ASCII characters without spaces.
        KeyReused: it belongs to another request, or the first is still being answered.
    """
    if not _KEY.fullmatch(key):
        raise ValueError("Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.")
    delete_expired(member.tenant_id, member.user_id)
    try:
        with transaction.atomic():
            row = IdempotentAnswer.objects.create(
                tenant_id=member.tenant_id, user_id=member.user_id, key=key, fingerprint=fingerprint
            )
    except IntegrityError:
        return _repeated(member, key, fingerprint, run_id)
    return Claim(row.pk)


def delete_expired(tenant_id: int, user_id: UserId) -> None:
    own = IdempotentAnswer.objects.filter(tenant_id=tenant_id, user_id=user_id)
    own.filter(created_at__lt=timezone.now() - LIFETIME).delete()


def _repeated(member: Member, key: str, fingerprint: str, run_id: str) -> Claim:
    row = IdempotentAnswer.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, key=key).first()
    if row is not None and row.fingerprint != fingerprint:
        raise KeyReused("This Idempotency-Key was sent before, with another request.")
    if row is None or (row.status is None and not _is_abandoned(member, row, run_id)):
        raise KeyReused("The first request with this Idempotency-Key is still being answered.")
    return Claim(row.pk, row.status, row.body)


def _is_abandoned(member: Member, row: IdempotentAnswer, run_id: str) -> bool:
    """Return whether a request's process has probably died. If that is wrong, both requests still find the same run."""
    own = Run.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, run_id=run_id)
    status = own.values_list("status", flat=True).first() if run_id else None
    if status is None:
        return row.created_at < timezone.now() - ABANDONED_AFTER
    return status not in ACTIVE


def store_answer(*, member: Member, claim: Claim, status: int, body: Mapping[str, Any] | None) -> None:
    """Store a successful answer for repetitions of the request."""
    _claimed(member, claim).update(status=status, body=body)


def release_claim(*, member: Member, claim: Claim) -> None:
    """Let the key be used again, because the request had no effect."""
    _claimed(member, claim).delete()


def _claimed(member: Member, claim: Claim) -> Any:
    return IdempotentAnswer.objects.filter(pk=claim.pk, tenant_id=member.tenant_id, user_id=member.user_id)
