"""Collections of a tenant's documents, who may read them, and what is in them."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.knowledge import Document
from assistant.models.tenants import Membership, Tenant


def validate_roles(value: Any) -> None:
    """Raise `ValidationError` unless a value is a list of roles, none twice."""
    if not isinstance(value, list) or len(value) != len(set(map(str, value))):
        raise ValidationError(_("This is no list of roles."))
    if unknown := [one for one in value if one not in Membership.Role.values]:
        raise ValidationError(_("There is no role %(role)s.") % {"role": str(unknown[0])[:50]})


class Collection(models.Model):
    """Documents that the same people may read: those who meet all of its conditions, everybody without any."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    name = models.CharField(_("name"), max_length=100)
    description = models.CharField(
        _("description"),
        max_length=300,
        blank=True,
        help_text=_("What its documents are about, for people and assistants who may read them."),
    )
    roles = models.JSONField(
        _("roles"),
        default=list,
        blank=True,
        validators=[validate_roles],
        help_text=_("Who asks has one of these roles in the tenant. None: any, end users too."),
    )
    permission = models.CharField(
        _("permission"),
        max_length=201,
        blank=True,
        validators=[RegexValidator(r"\A[A-Za-z_]\w*\.\w+\Z", _("A permission is of the form app.codename."))],
        help_text=_("Who asks has this permission of Django, such as crm.view_contract. Empty: none is needed."),
    )
    assistants = models.ManyToManyField(
        Assistant,
        verbose_name=_("assistants"),
        blank=True,
        related_name="+",
        help_text=_("One of these is asked."),
    )
    # Apart from the assistants, so that one that is deleted leaves the collection closed.
    for_chosen_assistants = models.BooleanField(
        _("only through chosen assistants"),
        default=False,
        help_text=_("Holds where any is chosen. Without any left nobody reads the documents."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(
        _("updated at"), auto_now=True, help_text=_("When it, or what is in it, was changed.")
    )

    class Meta:
        verbose_name = _("collection")
        verbose_name_plural = _("collections")
        ordering = ["tenant_id", "name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="one_collection_per_name")]

    def __str__(self) -> str:
        return self.name


class CollectedDocument(models.Model):
    """A document in a collection, and the row of the project that it comes from, if it does.

    A document is in one collection at most, so that one place says who may read it.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    # A collection with documents is not deleted: everybody could read them.
    collection = models.ForeignKey(Collection, on_delete=models.RESTRICT, related_name="entries")
    document = models.OneToOneField(Document, on_delete=models.CASCADE, related_name="+")
    row_model = models.CharField(
        max_length=200, blank=True, help_text=_("Of the row: app.Model. Empty: it comes from none.")
    )
    row_key = models.CharField(max_length=200, blank=True, help_text=_("The row's primary key."))

    class Meta:
        verbose_name = _("document in a collection")
        verbose_name_plural = _("documents in collections")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(row_model="", row_key="") | ~(models.Q(row_model="") | models.Q(row_key="")),
                name="row_with_model_and_key",
            )
        ]

    def __str__(self) -> str:
        return str(self.document_id)
