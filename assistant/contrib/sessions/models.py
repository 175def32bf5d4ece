"""Conversations that programs hold for members by `ChatClient`."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from assistant.models.tenants import Tenant

MAX_NAME = 200
# That of `assistant.client.sessions`, whose import would bring all of the client into every process.
MAX_KIND = 64


class StoredEvent(models.Model):
    """One event of a conversation; the primary key gives the order."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.CharField(max_length=MAX_NAME, help_text="What the program calls it.")
    kind = models.CharField(max_length=MAX_KIND)
    # PostgreSQL's type for JSON takes no NUL characters, which texts of models may have.
    value = models.TextField(help_text="JSON.")
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["tenant", "user", "conversation", "id"], name="events_of_a_conversation"),
            models.Index(fields=["tenant", "at"], name="session_events_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.conversation} {self.kind}"
