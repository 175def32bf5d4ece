"""Tools that an operator has switched off in the whole deployment."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

# Of a reason why a tool is off, which members and the model read.
MAX_REASON = 150


class ToolBlock(models.Model):
    """A tool that no tenant can use, regardless of its switches, until `until` by the database's clock."""

    tool = models.CharField(max_length=64, unique=True)
    reason = models.CharField(max_length=MAX_REASON)
    until = models.DateTimeField(null=True, help_text=_("Empty: until it is switched on again."))
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("actor"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("Who switched it off. Empty: a command."),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.tool}: off in the whole deployment"
