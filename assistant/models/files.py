"""Files of conversations: what people attach to their messages, and what tools returned."""

from __future__ import annotations

import uuid
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.conversations import Conversation
from assistant.models.runs import ToolCall
from assistant.models.tenants import ApiKey, Tenant

# The alias in STORAGES of a project that stores attachments elsewhere than in a folder.
STORAGE_ALIAS = "attachments"
MAX_NAME = 150


def attachment_storage() -> Storage:
    """Return where attached files are: the storage "attachments", else the folder ASSISTANT_ATTACHMENTS_DIR.

    The folder is none that a web server serves, so not within MEDIA_ROOT.
    """
    if STORAGE_ALIAS in settings.STORAGES:
        return storages[STORAGE_ALIAS]
    base = Path(getattr(settings, "BASE_DIR", "."))
    return FileSystemStorage(
        location=base / (settings.ASSISTANT_ATTACHMENTS_DIR or "attachments"),
        file_permissions_mode=0o600,
        base_url=None,
    )


def attachment_path(attachment: Attachment, filename: str) -> str:
    """Return the file's path in the storage, without the name that the uploader gave it."""
    return f"{attachment.tenant_id}/{attachment.pk}"


class Attachment(models.Model):
    """One file that somebody attaches to a message.

    It belongs to its uploader until it is sent, and then to the conversation; `services.files` stores and removes it.
    """

    class Kind(models.TextChoices):
        # For pages: refusals of files name it.
        IMAGE = "image", _("Image")
        # For pages: too.
        PDF = "pdf", _("PDF")
        # For pages: too.
        DOCX = "docx", _("Word document")
        # For pages: too.
        XLSX = "xlsx", _("Spreadsheet")
        # For pages: too.
        PPTX = "pptx", _("Presentation")
        # For pages: too.
        TEXT = "text", _("Text")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="attachments")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="attachments"
    )
    message_id = models.CharField(max_length=128, blank=True, help_text=_("Of the message that it was sent with."))
    name = models.CharField(max_length=MAX_NAME)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    media_type = models.CharField(max_length=100, help_text=_("As its content says, not its name."))
    text_format = models.CharField(max_length=10, blank=True, help_text=_("How its text is divided into passages."))
    size = models.PositiveBigIntegerField(help_text=_("In bytes."))
    sha256 = models.CharField(max_length=64)
    file = models.FileField(storage=attachment_storage, upload_to=attachment_path, max_length=100)
    purpose = models.CharField(
        max_length=20,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("What for, as its uploader at the Files API said. Empty: it was uploaded another way."),
    )
    api_key = models.ForeignKey(
        ApiKey,
        null=True,
        on_delete=models.SET_NULL,
        editable=False,
        related_name="+",
        help_text=_("The key that it was uploaded with at the Files API."),
    )
    text = models.TextField(
        blank=True, help_text=_("The text that was read from it; pages are separated by form feeds.")
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("attachment")
        verbose_name_plural = _("attachments")
        ordering = ["created_at"]
        indexes = [
            models.Index(
                fields=["created_at"], condition=models.Q(conversation__isnull=True), name="unsent_attachments"
            )
        ]

    def __str__(self) -> str:
        return self.name


class ToolFile(models.Model):
    """One file of a tool's result, at most `assistant.toolkit.media.MAX_BYTES` bytes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="tool_files")
    call = models.ForeignKey(ToolCall, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=100)
    media_type = models.CharField(max_length=100)
    size = models.PositiveIntegerField(help_text=_("In bytes."))
    data = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("file of a tool")
        verbose_name_plural = _("files of tools")
        ordering = ["created_at"]

    def __str__(self) -> str:
        return self.name
