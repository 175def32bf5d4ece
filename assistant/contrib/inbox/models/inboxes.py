"""What people have seen of their conversations, and whether they get e-mails about what waits for them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class MemberInbox(models.Model):
    """Since when the answers of a member count as new, and of which approvals an e-mail has told them."""

    tenant = models.ForeignKey("assistant.Tenant", verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )
    since = models.DateTimeField(_("since"), help_text=_("Answers that ended before are not new."))
    told_to = models.DateTimeField(
        null=True, editable=False, help_text=_("When the newest approval was asked for that an e-mail has told of.")
    )
    told_at = models.DateTimeField(null=True, editable=False, help_text=_("When the last e-mail was sent."))
    tried_at = models.DateTimeField(null=True, editable=False, help_text=_("When it was last tried to send one."))

    class Meta:
        verbose_name = _("inbox of a member")
        verbose_name_plural = _("inboxes of members")
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="one_inbox_per_member")]

    def __str__(self) -> str:
        return str(self.pk)


class ConversationSeen(models.Model):
    """When the person of a conversation has last seen the end of it."""

    tenant = models.ForeignKey("assistant.Tenant", verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    conversation = models.OneToOneField(
        "assistant.Conversation", primary_key=True, on_delete=models.CASCADE, related_name="seen"
    )
    seen_at = models.DateTimeField(_("seen at"))

    class Meta:
        verbose_name = _("seen conversation")
        verbose_name_plural = _("seen conversations")

    def __str__(self) -> str:
        return str(self.pk)


class PersonInbox(models.Model):
    """What a person has set for e-mails about what waits for them, in all tenants. A row of no tenant."""

    class Mails(models.TextChoices):
        # For pages: the page of one's own settings shows it.
        AT_ONCE = "at_once", _("One for each")
        # For pages: the page of one's own settings shows it.
        HOURLY = "hourly", _("At most one an hour, with all")
        # For pages: the page of one's own settings shows it.
        DAILY = "daily", _("At most one a day, with all")
        # For pages: the page of one's own settings shows it.
        NEVER = "never", _("None")

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+")
    # For pages: the page of one's own settings shows it.
    mails = models.CharField(
        _("e-mails about approvals and questions that wait"), max_length=8, choices=Mails.choices, default=Mails.HOURLY
    )

    class Meta:
        verbose_name = _("inbox of a person")
        verbose_name_plural = _("inboxes of people")

    def __str__(self) -> str:
        return str(self.user_id)
