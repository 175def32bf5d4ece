"""Questions that could follow an answer."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.conversations import Conversation
from assistant.models.fields import list_field
from assistant.models.tenants import Tenant


class FollowUpQuestions(models.Model):
    """The questions that the model suggested after an answer of a conversation: those of the last such run alone."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    conversation = models.OneToOneField(
        Conversation, verbose_name=_("conversation"), on_delete=models.CASCADE, related_name="+"
    )
    run_number = models.PositiveIntegerField(
        _("run number"), help_text=_("The number of the run whose answer the questions follow.")
    )
    questions = list_field(verbose_name=_("questions"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("follow-up questions")
        verbose_name_plural = _("follow-up questions")

    def __str__(self) -> str:
        return f"{self.conversation_id}"
