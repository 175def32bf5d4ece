"""What an operator has decided about the deployment's reach, and the documents that are made of the project's rows."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.knowledge import Document
from assistant.models.tenants import Tenant


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


class ExposedModel(models.Model):
    """What operators have ticked of one of the project's models, in the room *Data*, for all tenants."""

    row_model = models.CharField(_("model"), max_length=200, unique=True)
    is_offered = models.BooleanField(_("offered"), default=False)
    fields = models.JSONField(_("columns"), default=list)
    filters = models.JSONField(_("found by"), default=list)
    personal = models.JSONField(_("personal"), default=list)
    description = models.CharField(_("what the rows are"), max_length=500, blank=True)
    wording = models.JSONField(
        _("wording"), default=dict, help_text=_("What columns are, by their names, and what the tools do.")
    )

    class Meta:
        verbose_name = _("exposed model")
        verbose_name_plural = _("exposed models")
        ordering = ["row_model"]

    def __str__(self) -> str:
        return self.row_model


class RowDocument(models.Model):
    """A document that a `KnowledgeSource` has made of a row of the project: only who may see the row finds it."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    document = models.OneToOneField(Document, on_delete=models.CASCADE, related_name="+")
    row_model = models.CharField(max_length=200, help_text=_("Of the row: app.Model."))
    row_key = models.CharField(max_length=200, help_text=_("The row's primary key."))
    digest = models.CharField(max_length=64, help_text=_("Of the title and text that were read from the row."))

    class Meta:
        verbose_name = _("document of a row")
        verbose_name_plural = _("documents of rows")
        constraints = [models.UniqueConstraint(fields=["tenant", "row_model", "row_key"], name="one_document_per_row")]

    def __str__(self) -> str:
        return f"{self.row_model} {self.row_key}"
