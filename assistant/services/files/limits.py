"""What a tenant lets people attach to messages."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from assistant.models import Attachment, Tenant, TenantLimits
from assistant.services.files.reading import readable_kinds
from assistant.toolkit.media import MAX_BYTES

MB = 1024 * 1024
# The limit of one image at providers; a tenant's own limit cannot exceed it.
MAX_IMAGE_BYTES = 5 * MB
# The limits of a PDF that is sent to the provider as a file.
MAX_PDF_BYTES, MAX_PDF_PAGES = MAX_BYTES, 100
# The value of `attachment_kinds` with which nobody can attach files.
NONE = "none"
# The suffixes that a browser's file dialog offers, by kind.
ACCEPTED = {
    "image": (".png", ".jpg", ".jpeg", ".gif", ".webp"),
    "pdf": (".pdf",),
    "docx": (".docx",),
    "xlsx": (".xlsx",),
    "pptx": (".pptx",),
    "text": (".txt", ".md", ".csv", ".html", ".json", ".xml", ".yaml", ".log", ".py", ".js", ".ts", ".sql"),
}


@dataclass(frozen=True, slots=True)
class AttachmentLimits:
    """The limits of attachments. No kinds: nothing can be attached. Of the numbers, 0 is no limit."""

    kinds: frozenset[str]
    per_message: int
    file_bytes: int
    bytes_together: int

    @property
    def are_on(self) -> bool:
        return bool(self.kinds)

    def accept(self, *, images: bool) -> str:
        """Return the value of the attribute `accept` of a file input. `images`: whether the model sees them."""
        kinds = self.kinds if images else self.kinds - {Attachment.Kind.IMAGE.value}
        return ",".join(suffix for kind, suffixes in ACCEPTED.items() if kind in kinds for suffix in suffixes)


def attachment_limits(tenant: Tenant) -> AttachmentLimits:
    """Return the limits of a tenant that was loaded with its `limits`: its own, else the deployment's."""
    own: TenantLimits | None = getattr(tenant, "limits", None)
    written = own.attachment_kinds.replace(",", " ").split() if own is not None else []
    kinds = frozenset(written or settings.ASSISTANT_ATTACHMENT_KINDS)
    return AttachmentLimits(
        kinds=frozenset() if NONE in kinds else kinds & readable_kinds(),
        per_message=_own(own, "attachments_per_message", settings.ASSISTANT_ATTACHMENTS_PER_MESSAGE),
        file_bytes=_own(own, "attachment_mb", settings.ASSISTANT_ATTACHMENT_MB) * MB,
        bytes_together=_own(own, "attachments_mb", settings.ASSISTANT_ATTACHMENTS_MB) * MB,
    )


def _own(limits: TenantLimits | None, name: str, default: int) -> int:
    value: int | None = getattr(limits, name, None)
    return default if value is None else value
