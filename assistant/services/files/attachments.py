"""Takes, finds and deletes the files that people attach to messages."""

from __future__ import annotations

import hashlib
import logging
import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePath
from typing import Any

from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.signals import post_delete
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.models import Attachment, Provider, Tenant
from assistant.models.files import MAX_NAME
from assistant.services.files.kinds import MEDIA_TYPES, OFFICE_KINDS, FileRefused, FileType, detect
from assistant.services.files.limits import (
    MAX_IMAGE_BYTES,
    MAX_PDF_BYTES,
    MAX_PDF_PAGES,
    MB,
    AttachmentLimits,
    attachment_limits,
)
from assistant.services.files.reader_turns import Uploader
from assistant.services.files.reading import broken, check_readable, no_text, read_text
from assistant.services.jobs.recurring import recurs
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit.image_sizes import MAX_PIXELS, is_too_large, sizes_of
from assistant.toolkit.media import ENDINGS, with_own_ending
from assistant.toolkit.text import clean_text

logger = logging.getLogger(__name__)

UNSENT_LIFETIME = timedelta(hours=24)
# Of one person: the files of several messages that are being written.
MAX_UNSENT = 50
# Together, so that nobody fills their tenant's space with files of no conversation; those of one message may be larger.
MAX_UNSENT_BYTES = 100 * MB
BATCH = 200
SCAN_TOO_LARGE = gettext_noop(
    "The file holds no text, only pictures of it, of which a model can read %(size)d MB and %(pages)d pages. Split it, "
    "or run text recognition on it."
)
# Names of text files keep their endings, which say what kind of text it is.
_ENDINGS = {**ENDINGS, **{MEDIA_TYPES[kind]: (f".{kind.value}",) for kind in OFFICE_KINDS}}
_UNSAFE_IN_NAMES = re.compile(r"[^\w.() \[\],&+@#-]+")


@dataclass(frozen=True, slots=True)
class ReadFile:
    """An uploaded file that can be stored: its safe name, content, type and text."""

    name: str
    content: bytes
    kind: FileType
    text: str

    @property
    def is_scan(self) -> bool:
        """Whether this is a PDF of pictures of pages, which only models that read PDFs can use."""
        return self.kind.kind is Attachment.Kind.PDF and not self.kind.text_format


def limits_of(member: Member) -> AttachmentLimits:
    """Return what the member's tenant lets people attach."""
    return attachment_limits(Tenant.objects.select_related("limits").get(pk=member.tenant_id))


def safe_name(name: str) -> str:
    """Return a file's name without its folders and without characters that could mislead readers; the suffix stays."""
    last = PurePath(clean_text(name).replace("\\", "/")).name
    clean = " ".join(_UNSAFE_IN_NAMES.sub("_", last).split()).strip(". ")
    suffix = PurePath(clean).suffix[:20]
    return f"{clean[: MAX_NAME - len(suffix)].removesuffix(suffix)}{suffix}" or "file"


def read_upload(*, content: bytes, name: str, limits: AttachmentLimits, uploader: Uploader) -> ReadFile:
    """Check a file, and read its text in a child process; nothing is stored. Call this outside of transactions.

    Raises:
        FileRefused: it cannot be taken.
    """
    if not limits.are_on:
        raise FileRefused("attachments_off", _("Files cannot be attached here."))
    check_size(len(content), limits)
    name = safe_name(name)
    kind = detect(content, name)
    check_readable(kind)
    if kind.kind not in limits.kinds:
        raise FileRefused(
            "file_type", _("Files of the kind %(kind)s cannot be attached here.") % {"kind": kind.kind.label}
        )
    if kind.kind is Attachment.Kind.IMAGE and len(content) > MAX_IMAGE_BYTES:
        raise FileRefused(
            "file_too_large", _("An image may have at most %(size)d MB.") % {"size": MAX_IMAGE_BYTES // MB}
        )
    if kind.kind is Attachment.Kind.IMAGE:
        _check_pixels(content, kind.media_type)
    name = with_own_ending(name, kind.media_type, _ENDINGS)
    text = clean_text(read_text(content, kind, uploader=uploader, takes_scans=True).text)
    if kind.kind is Attachment.Kind.PDF and not text.strip():
        kind = replace(kind, text_format="")
        if len(content) > MAX_PDF_BYTES or text.count("\f") >= MAX_PDF_PAGES:
            raise FileRefused(
                "file_too_large", _(SCAN_TOO_LARGE) % {"size": MAX_PDF_BYTES // MB, "pages": MAX_PDF_PAGES}
            )
    return ReadFile(name, content, kind, text)


def _check_pixels(content: bytes, media_type: str) -> None:
    if not sizes_of(content, media_type):
        raise broken()
    if is_too_large(content, media_type):
        sentence = _("An image may have at most %(number)d million pixels.")
        raise FileRefused("file_too_large", sentence % {"number": MAX_PIXELS // 1_000_000})


def check_size(size: int, limits: AttachmentLimits) -> None:
    """Raise `FileRefused` if a file has more bytes than the tenant allows."""
    if limits.file_bytes and size > limits.file_bytes:
        raise FileRefused(
            "file_too_large", _("A file may have at most %(size)d MB.") % {"size": limits.file_bytes // MB}
        )


@transaction.atomic
def store_attachment(*, member: Member, read: ReadFile, limits: AttachmentLimits, purpose: str = "") -> Attachment:
    """Store a file that `read_upload` returned, which its uploader can send or delete.

    `purpose`: the purpose that a file of the Files API is uploaded with; "" for other uploads. Only the same key finds
    files of that API.

    Raises:
        FileRefused: `file_quota`, the tenant's files, or the uploader's unsent ones, are too many or too large;
            `file_unreadable`, it is a scan, and no model of the tenant's assistants reads PDFs.
    """
    if read.is_scan and not _some_model_reads_pdfs(member.tenant_id):
        raise no_text()
    # Uploads of a tenant wait for each other here, so that together they stay within its limit.
    Tenant.objects.select_for_update(no_key=True).get(pk=member.tenant_id)
    own = Attachment.objects.filter(tenant_id=member.tenant_id)
    unsent = own.filter(user_id=member.user_id, conversation=None).aggregate(count=Count("pk"), size=Sum("size"))
    if unsent["count"] >= MAX_UNSENT:
        sentence = _("You have %(count)d files that were not sent. Send or remove some first.")
        raise FileRefused("file_quota", sentence % {"count": MAX_UNSENT})
    most = max(MAX_UNSENT_BYTES, limits.per_message * limits.file_bytes)
    if unsent["count"] and unsent["size"] + len(read.content) > most:
        sentence = _("Files that are not sent may have %(size)d MB together. Send or remove some.")
        raise FileRefused("file_quota", sentence % {"size": most // MB})
    stored = own.aggregate(total=Sum("size"))["total"] or 0
    if limits.bytes_together and stored + len(read.content) > limits.bytes_together:
        raise FileRefused("file_quota", _("The files of your organisation take up all the space that they may."))
    row = Attachment(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        name=read.name,
        kind=read.kind.kind,
        media_type=read.kind.media_type,
        text_format=read.kind.text_format,
        size=len(read.content),
        sha256=hashlib.sha256(read.content).hexdigest(),
        text=read.text,
        purpose=purpose,
        api_key_id=member.key_id if purpose else None,
    )
    row.file.save(read.name, ContentFile(read.content), save=False)
    try:
        with transaction.atomic():
            row.save()
    except Exception:
        row.file.delete(save=False)
        raise
    return row


def _some_model_reads_pdfs(tenant_id: int) -> bool:
    # An upload names no assistant. The run that it is sent with checks the model that it uses.
    of_assistants = Q(assistants__tenant_id=tenant_id, assistants__is_active=True)
    of_tenant = Q(tenant_id=tenant_id) | Q(pk__in=Tenant.objects.filter(pk=tenant_id).values("default_provider"))
    return Provider.objects.filter(of_assistants | of_tenant, reads_pdfs=True).exists()


def readable_attachments(member: Member) -> QuerySet[Attachment]:
    """Return the files that a member may read: their own until they are sent, then those of their conversations.

    One of the Files API only with the key that uploaded it.
    """
    of_tenant = Attachment.objects.filter(tenant_id=member.tenant_id)
    unsent = Q(conversation=None, user_id=member.user_id) & (Q(purpose="") | Q(api_key_id=member.key_id))
    sent = Q(conversation__tenant_id=member.tenant_id, conversation__user_id=member.user_id)
    if member.assistant_id is not None:
        sent &= Q(conversation__assistant_id=member.assistant_id)
    return of_tenant.filter(unsent | sent)


def find_attachment(*, member: Member, attachment_id: uuid.UUID) -> Attachment | None:
    """Return a file that the member may read, without its text, or None."""
    return readable_attachments(member).filter(pk=attachment_id).defer("text").first()


def delete_unsent(*, member: Member, attachment_ids: Collection[uuid.UUID]) -> int:
    """Delete files that the member has uploaded and not sent, and return how many."""
    own = Attachment.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, conversation=None)
    own = own.filter(Q(purpose="") | Q(api_key_id=member.key_id))
    return _delete_locked(own.filter(pk__in=attachment_ids))


@transaction.atomic
def _delete_locked(unsent: QuerySet[Attachment], *, skips_locked: bool = False) -> int:
    """Delete up to `BATCH` unsent files, and return how many."""
    # Django reads rows before it deletes them; without the lock, one could be sent in between.
    locked = unsent.order_by("pk").select_for_update(skip_locked=skips_locked).values_list("pk", flat=True)
    deleted, _ = unsent.filter(pk__in=list(locked[:BATCH])).delete()
    return deleted


@recurs("files.forget", seconds=600.0)
@all_tenants()
def delete_forgotten() -> int:
    """Delete the files of all tenants that were not sent within `UNSENT_LIFETIME`; return how many."""
    until, total = timezone.now() - UNSENT_LIFETIME, 0
    old = Attachment.objects.filter(conversation=None, created_at__lt=until)
    # One that is locked is being sent.
    while deleted := _delete_locked(old, skips_locked=True):
        total += deleted
    return total


def connect_signals() -> None:
    """Remove the stored file with its row, also if the row goes with its conversation, tenant or uploader.

    Deletions cascade to rows in Django, which then sends a signal for each; no other place sees all of them.
    """
    post_delete.connect(_remove_file, sender=Attachment, dispatch_uid="assistant-attachment-file")


def _remove_file(instance: Attachment, **kwargs: Any) -> None:
    storage, path = instance.file.storage, instance.file.name or ""

    def remove() -> None:
        try:
            storage.delete(path)
        except Exception:
            # Only log it: the row is gone, so nothing else can find the file.
            logger.exception("The file %s of a deleted attachment could not be removed", path)

    if path:
        transaction.on_commit(remove)
