"""What an operator has decided about the deployment's reach."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class ReachReview(models.Model):
    """A look of an operator at what can be reached, and what followed: the newest one holds for the deployment."""

    is_read_only = models.BooleanField(
        _("read only"), help_text=_("Whether no tool with an effect may run, for any tenant.")
    )
    reach = models.JSONField(_("reach"), help_text=_("What was exposed then."))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("operator")
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("review of the reach")
        verbose_name_plural = _("reviews of the reach")
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M} UTC"
