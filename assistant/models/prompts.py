"""The versions of assistants' prompts, and tenants' own variables, which prompts name."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.tenants import Tenant

# Names that would look like a variable of the product.
RESERVED = ("today", "user", "tenant")
MAX_NAME, MAX_VALUE = 40, 2000
# How many a tenant has at most.
MAX_VARIABLES = 200


class PromptVersion(models.Model):
    """One version of an assistant's system prompt; runs use the published one."""

    class Status(models.TextChoices):
        # For pages: the chat with a draft says it.
        DRAFT = "draft", _("Draft")
        # For pages: too.
        PUBLISHED = "published", _("Published")
        # For pages: too.
        ARCHIVED = "archived", _("Archived")

    assistant = models.ForeignKey(
        Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="prompt_versions"
    )
    number = models.PositiveIntegerField(_("number"), editable=False)
    text = models.TextField(_("text"))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.DRAFT)
    note = models.CharField(_("note"), max_length=200, blank=True, help_text=_("What this version changes."))
    label = models.CharField(
        _("label"),
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text=_("A name for this version, such as “before sale”."),
    )
    # False for versions that are older than variables: two braces in them are text.
    uses_variables = models.BooleanField(default=False, db_default=False, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    published_at = models.DateTimeField(_("published at"), null=True, editable=False)

    class Meta:
        verbose_name = _("prompt version")
        verbose_name_plural = _("prompt versions")
        ordering = ["assistant", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["assistant", "number"], name="prompt_number_per_assistant"),
            models.UniqueConstraint(
                fields=["assistant"], condition=Q(status="published"), name="one_published_prompt_per_assistant"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.assistant} v{self.number} ({self.get_status_display()})"


class PromptVariable(models.Model):
    """A text that every prompt of a tenant can name: {{ name }} becomes the value when a run begins."""

    tenant = models.ForeignKey(
        Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="prompt_variables"
    )
    name = models.CharField(
        _("name"),
        max_length=MAX_NAME,
        validators=[
            RegexValidator(r"\A[a-z][a-z0-9_]*\Z", _("Lower-case letters, digits and _, beginning with a letter.")),
            RegexValidator(rf"\A(?:{'|'.join(RESERVED)})\Z", _("This name is reserved."), inverse_match=True),
        ],
        help_text=_("Prompts name it between two braces on each side, as {{ opening_hours }}."),
    )
    value = models.TextField(_("value"), max_length=MAX_VALUE, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        ordering = ["tenant__slug", "name"]
        verbose_name = _("prompt variable")
        verbose_name_plural = _("prompt variables")
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="prompt_variable_per_tenant")]

    def __str__(self) -> str:
        return self.name
