"""A tenant's own variables, which its prompts name."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.tenants import Tenant

# Names that would look like a variable of the product.
RESERVED = ("today", "user", "tenant")
MAX_NAME, MAX_VALUE = 40, 2000
# How many a tenant has at most.
MAX_VARIABLES = 200


class PromptVariable(models.Model):
    """A text that every prompt of a tenant can name: {{ name }} becomes the value when a run begins."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="prompt_variables")
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
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["tenant__slug", "name"]
        verbose_name = _("prompt variable")
        verbose_name_plural = _("prompt variables")
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="prompt_variable_per_tenant")]

    def __str__(self) -> str:
        return self.name
