"""Images and other files that tools returned, stored with the call that made them."""

from __future__ import annotations

import uuid

from django.db import models

from assistant.models.runs import ToolCall
from assistant.models.tenants import Tenant


class ToolFile(models.Model):
    """One file of a tool's result, at most `assistant.toolkit.media.MAX_BYTES` bytes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="tool_files")
    call = models.ForeignKey(ToolCall, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=100)
    media_type = models.CharField(max_length=100)
    size = models.PositiveIntegerField(help_text="In bytes.")
    data = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at"]

    def __str__(self) -> str:
        return self.name
