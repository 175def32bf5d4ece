"""Deletes temporary conversations that nobody has gone on with."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef

from assistant.models import Conversation, Run
from assistant.models.runs import IS_ACTIVE
from assistant.services.db.clock import DatabaseTime
from assistant.services.eventlog.configured import configured_log
from assistant.services.jobs.recurring import recurs

# How long a temporary conversation is there after its last answer, if its member does not delete it by leaving it.
LIFETIME = timedelta(hours=1)
# Conversations that are deleted at once.
MAX_DELETED = 100


@recurs("conversations.temporary", seconds=60.0)
def delete_temporary() -> int:
    """Delete temporary conversations of all tenants whose last answer is older than `LIFETIME`. Return their number."""
    running = Run.objects.filter(IS_ACTIVE, tenant_id=OuterRef("tenant_id"), conversation=OuterRef("pk"))
    since = DatabaseTime(-LIFETIME.total_seconds())
    old = Conversation.objects.filter(is_temporary=True, updated_at__lt=since).exclude(Exists(running))
    threads = list(old.order_by("updated_at").values_list("pk", flat=True)[:MAX_DELETED])
    if not threads:
        return 0
    with transaction.atomic():
        Conversation.objects.filter(is_temporary=True, pk__in=threads).delete()
    configured_log().forget([str(thread) for thread in threads])
    return len(threads)
