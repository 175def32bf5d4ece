"""Keeps what models are sent, where an operator has switched that on for a tenant, and in development.

What is kept is encrypted, and erased after `LIFETIME`. It is read on the page of its run, by those who may read the
conversation.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pydantic_core
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from assistant.client.sent_requests import SentRequest, SentRequests
from assistant.contrib.sent_requests.models import Keeping, KeptRequest
from assistant.contrib.sent_requests.retention import LIFETIME
from assistant.models import Assistant, Job, Run, Tenant
from assistant.services.db.threads import in_database_with_retry
from assistant.services.jobs import jobs
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit.text import clean_text

logger = logging.getLogger(__name__)

NAME = "sent_requests"
MAX_HOURS = 24
# Characters of one request; a longer one is cut, and says so.
MAX_CONTENT = 262_144
# Requests of one run, the newest.
MAX_OF_RUN = 30
ERASE_JOB = "requests.erase"
# Images that tools returned.
_IMAGES = re.compile(r"data:[\w/+.-]{1,100};base64,[A-Za-z0-9+/=]{100,}")


def keeps_requests(tenant: Tenant) -> bool:
    """Return whether what models are sent for a tenant is kept now."""
    return settings.DEBUG or (NAME in tenant.extensions and kept_until(tenant) is not None)


def kept_until(tenant: Tenant) -> datetime | None:
    """Return until when what models are sent for a tenant is kept; None if it is not kept now."""
    rows = Keeping.objects.filter(tenant=tenant, until__gt=timezone.now())
    return rows.values_list("until", flat=True).first()


@transaction.atomic
def keep_requests(*, tenant: Tenant, hours: int, actor: audit_trail.Actor, reason: str = "") -> datetime | None:
    """Keep what models are sent for a tenant from now on, for some hours; 0 ends that. Returns until when.

    Raises:
        ValueError: for more than `MAX_HOURS`.
    """
    if not 0 <= hours <= MAX_HOURS:
        raise ValueError(f"Choose 0 to {MAX_HOURS} hours.")
    now = timezone.now()
    before = kept_until(tenant)
    until = now + timedelta(hours=hours) if hours else None
    if until is None:
        Keeping.objects.filter(tenant=tenant).delete()
    else:
        Keeping.objects.update_or_create(tenant=tenant, defaults={"until": until})
    _switch(tenant, is_on=until is not None)
    moments = [None if at is None else at.isoformat(timespec="minutes") for at in (before, until)]
    audit_trail.record(
        actor=actor,
        action="requests.keep" if until else "requests.stop",
        target=tenant.slug,
        tenant=tenant,
        details={"values": {"until": moments}, **({"reason": reason} if reason else {})},
    )
    if until is not None:
        jobs.schedule(tenant_id=tenant.pk, name=ERASE_JOB, key="", due_at=until + LIFETIME + timedelta(hours=1))
    return until


def _switch(tenant: Tenant, *, is_on: bool) -> None:
    """Let the extension act in the tenant's runs, or no longer."""
    stored = Tenant.objects.select_for_update().only("extensions").get(pk=tenant.pk)
    others = [name for name in stored.extensions if name != NAME]
    tenant.extensions = [*others, NAME] if is_on else others
    tenant.save(update_fields=["extensions"])


class KeptRequests(SentRequests, RunExtension[None]):
    """Keeps what the model of a run is sent, and stores it after the run."""

    def __init__(self, key: RunKey) -> None:
        super().__init__()
        self._key = key

    async def stored(self) -> None:
        if not len(self):
            return
        try:
            await in_database_with_retry(store_requests, key=self._key, requests=self)
        except Exception:  # the run has ended, and does not fail with it
            logger.exception("What the model was sent in run %s could not be stored", self._key.run_id)


def extensions_of(key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool]) -> tuple[KeptRequests, ...]:
    """Return the extension that keeps what models are sent, where that is switched on now."""
    return (KeptRequests(key),) if keeps_requests(assistant.tenant) else ()


def store_requests(*, key: RunKey, requests: Iterable[SentRequest]) -> None:
    """Store what the model of a run was sent, and erase the tenant's that are too old."""
    erase_old_requests(tenant_id=key.tenant_id)
    newest = [_columns_of(request) for request in list(requests)[-MAX_OF_RUN:]]
    KeptRequest.objects.bulk_create(
        [KeptRequest(tenant_id=key.tenant_id, run_id=key.pk, **columns) for columns in newest], ignore_conflicts=True
    )


def _columns_of(request: SentRequest) -> dict[str, Any]:
    content = request.content
    return {
        "number": request.number,
        "provider": clean_text(request.provider)[:100],
        "model": clean_text(request.model)[:200],
        "size": len(content),
        "content": _IMAGES.sub("[an image]", clean_text(content.decode("utf-8", "replace")))[:MAX_CONTENT],
    }


def erase_old_requests(*, tenant_id: int) -> int:
    """Delete a tenant's kept requests that are older than `LIFETIME`; return how many there were."""
    return KeptRequest.objects.filter(tenant_id=tenant_id, created_at__lt=timezone.now() - LIFETIME).delete()[0]


@jobs.handles(ERASE_JOB)
def _erase(job: Job) -> None:
    with tenant_scope(job.tenant_id):
        erase_old_requests(tenant_id=job.tenant_id)
        if kept_until(job.tenant) is None:
            _switch(job.tenant, is_on=False)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A kept request as its page shows it: the body as indented JSON, or its beginning if it was too long."""

    number: int
    provider: str
    model: str
    text: str
    is_cut: bool


def requests_of(*, run: Run) -> list[ReadRequest]:
    """Return what the model of a run was sent, as far as it is kept, oldest first."""
    rows = KeptRequest.objects.filter(run=run, tenant_id=run.tenant_id, created_at__gt=timezone.now() - LIFETIME)
    return [ReadRequest(row.number, row.provider, row.model, *_shown(row.content)) for row in rows.order_by("number")]


def _shown(content: str) -> tuple[str, bool]:
    try:
        found = pydantic_core.from_json(content)
    except ValueError:
        return content, True
    return pydantic_core.to_json(found, indent=2).decode(), False
