"""Links to conversations, and which tenants allow them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class ConversationShare(models.Model):
    """A link under which a tenant's members read a conversation, as it was shown when the link was made."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, help_text=_("The last part of the link's address."))
    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="conversation_shares")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey("assistant.Conversation", on_delete=models.CASCADE, related_name="shares")
    title = models.CharField(max_length=200, blank=True, default="", help_text=_("The conversation's, at that time."))
    path = models.JSONField(help_text=_("Pairs: the positions of the first message that is shown, and after the last."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("share")
        verbose_name_plural = _("shares")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.conversation_id} {self.created_at:%Y-%m-%d %H:%M}"


class TenantSharing(models.Model):
    """Whether a tenant's members may make links; without a row they may not."""

    tenant = models.OneToOneField("assistant.Tenant", on_delete=models.CASCADE, related_name="sharing")
    is_allowed = models.BooleanField(
        _("sharing of conversations"),
        default=False,
        help_text=_("Members can make links under which the tenant's other members read one of their conversations."),
    )

    class Meta:
        verbose_name = _("sharing of conversations")
        verbose_name_plural = _("sharing of conversations")

    def __str__(self) -> str:
        return str(self.tenant_id)
