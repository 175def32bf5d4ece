"""All conversations of a member as one archive."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO

from assistant.contrib.conversation_exports.export import as_json
from assistant.models import Tenant
from assistant.services.conversations.conversations import conversations_of
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import Member

# The newest conversations that an archive has, and the bytes at which no further one is added.
MAX_CONVERSATIONS = 500
MAX_BYTES = 20_000_000


def archived(*, member: Member) -> tuple[bytes, int]:
    """Return a ZIP archive with a member's conversations as JSON, the newest first, and how many it has."""
    target = BytesIO()
    rows = conversations_of(member=member).order_by("-updated_at", "pk")[:MAX_CONVERSATIONS]
    count = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in rows:
            if target.tell() > MAX_BYTES:
                break
            text = json.dumps(as_json(member=member, conversation=row), ensure_ascii=False, indent=1)
            archive.writestr(f"{row.created_at:%Y-%m-%d}-{row.client_id}.json", text)
            count += 1
    if count:
        audit_trail.record(
            actor=audit_trail.actor_of(member),
            action="conversations.export",
            target=member.user.username,
            tenant=Tenant.objects.get(pk=member.tenant_id),
            details={"count": count},
        )
    return target.getvalue(), count
