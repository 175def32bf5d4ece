"""Saved prompts of people and of tenants."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.core.values.prompt_template import names_in

# Characters.
MAX_NAME = 60
MAX_DESCRIPTION = 200
MAX_TEXT = 8_000
# Variables of one prompt.
MAX_VARIABLES = 10


def check_text(text: str) -> None:
    """Check a text with variables.

    Raises:
        ValidationError: two braces begin no variable, or there are too many variables; people read the sentence.
    """
    names = names_in(text)
    if "" in names:
        # For pages: the page of saved prompts shows it.
        raise ValidationError(_("A variable stands between two braces on each side, as {{ customer }}."))
    if len(names) > MAX_VARIABLES:
        # For pages: the page of saved prompts shows it.
        raise ValidationError(_("A prompt has at most %(count)d variables.") % {"count": MAX_VARIABLES})


class SavedPrompt(models.Model):
    """A text for the message box: of one person, or of everybody in the tenant."""

    tenant = models.ForeignKey("assistant.Tenant", verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("Whose it is alone. Empty: everybody's in the tenant."),
    )
    # For pages: the page of saved prompts shows it.
    name = models.CharField(_("name"), max_length=MAX_NAME, help_text=_("What is typed after the slash."))
    # For pages: the page of saved prompts shows it.
    description = models.CharField(_("description"), max_length=MAX_DESCRIPTION, blank=True)
    # For pages: the page of saved prompts shows it.
    text = models.TextField(
        _("text"),
        max_length=MAX_TEXT,
        validators=[check_text],
        help_text=_("Variables stand between two braces on each side, as {{ customer }}: a small form asks for them."),
    )
    uses = models.PositiveIntegerField(_("uses"), default=0, editable=False)
    last_used_at = models.DateTimeField(_("last used at"), null=True, editable=False)
    changed_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("saved prompt")
        verbose_name_plural = _("saved prompts")
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user", "name"], name="one_saved_prompt_per_name"),
            models.UniqueConstraint(
                fields=["tenant", "name"], condition=Q(user=None), name="one_saved_prompt_per_name_of_all"
            ),
        ]

    def __str__(self) -> str:
        return self.name
