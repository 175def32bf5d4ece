"""The files of the Files API: each found by the key that uploaded it, until it is deleted or expires."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db.models import QuerySet

from assistant.models import Attachment
from assistant.services.files.attachments import UNSENT_LIFETIME, delete_unsent
from assistant.services.tenancy.members import Member

# The purposes that clients may give when they upload a file. They make no difference to how it is used.
PURPOSES = ("user_data", "vision", "assistants")


def _own(member: Member) -> QuerySet[Attachment]:
    own = Attachment.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, conversation=None)
    return own.filter(api_key_id=member.key_id).exclude(purpose="").defer("text")


def key_files(*, member: Member, purpose: str = "") -> list[Attachment]:
    """Return the files that the member's key has uploaded, oldest first; for one purpose, if it is given."""
    own = _own(member).order_by("created_at", "pk")
    return list(own.filter(purpose=purpose) if purpose else own)


def find_key_file(*, member: Member, attachment_id: uuid.UUID) -> Attachment | None:
    """Return a file that the member's key has uploaded, or None."""
    return _own(member).filter(pk=attachment_id).first()


def delete_key_file(*, member: Member, attachment_id: uuid.UUID) -> bool:
    """Delete a file that the member's key has uploaded; return whether there was one. Copies in messages stay."""
    if find_key_file(member=member, attachment_id=attachment_id) is None:
        return False
    return bool(delete_unsent(member=member, attachment_ids=[attachment_id]))


def expires_at(row: Attachment) -> datetime:
    """Return when a file is deleted."""
    return row.created_at + UNSENT_LIFETIME
