"""Requests of members for tools."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

# Characters.
MAX_WISH = 500
MAX_QUESTION = 2_000
MAX_ANSWER = 500


class ToolRequest(models.Model):
    """What a member of a tenant has asked for in a conversation, and what they were answered."""

    class State(models.TextChoices):
        # For pages: the chat shows it.
        OPEN = "open", _("Waits for an answer")
        # For pages: the chat shows it.
        GRANTED = "granted", _("Yes")
        # For pages: the chat shows it.
        DECLINED = "declined", _("No")

    tenant = models.ForeignKey("assistant.Tenant", verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("asked by"), on_delete=models.CASCADE, related_name="+"
    )
    conversation = models.ForeignKey(
        "assistant.Conversation", verbose_name=_("conversation"), on_delete=models.CASCADE, related_name="+"
    )
    tool = models.CharField(_("tool"), max_length=64, blank=True, help_text=_("Empty: something that has no name."))
    wish = models.CharField(_("in their words"), max_length=MAX_WISH, blank=True)
    question = models.TextField(
        _("question that needed it"), max_length=MAX_QUESTION, blank=True, help_text=_("Who asks sends it along.")
    )
    asked_at = models.DateTimeField(_("asked at"), auto_now_add=True)
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.OPEN)
    answer = models.CharField(_("answer"), max_length=MAX_ANSWER, blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("answered by"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    answered_at = models.DateTimeField(_("answered at"), null=True, blank=True)
    is_seen = models.BooleanField(_("answer was seen"), default=False)

    class Meta:
        verbose_name = _("request for a tool")
        verbose_name_plural = _("requests for tools")
        ordering = ["-asked_at", "-pk"]
        indexes = [models.Index(fields=["tenant", "state", "asked_at"], name="tool_requests_by_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "tool"],
                condition=Q(state="open") & ~Q(tool=""),
                name="one_open_request_per_tool",
            )
        ]

    def __str__(self) -> str:
        return self.tool or self.wish
