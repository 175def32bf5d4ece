"""Invitations to tenants."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models import Membership


class Invitation(models.Model):
    """An invitation to become a member of a tenant, by a signed link that works once.

    The link names the row and its `serial`. Sending the invitation again counts `serial` up, which ends older links.
    """

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(_("e-mail address"))
    role = models.CharField(_("role"), max_length=10, choices=Membership.Role.choices, default=Membership.Role.MEMBER)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    serial = models.PositiveIntegerField(default=1)
    # Whether the newest link was sent to the address, which is then proven to belong to the person who opens it.
    is_sent = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    # Deleted with the person who accepted it.
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        indexes = [models.Index(fields=["tenant", "-created_at"], name="invitations_of_a_tenant")]

    def __str__(self) -> str:
        return self.email
