"""What embeds a tenant's passages, and their vectors."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Provider
from assistant.models.knowledge import Passage
from assistant.models.tenants import Tenant


class EmbeddingChoice(models.Model):
    """What embeds the documents of a tenant; the row without a tenant holds for all that have none of their own."""

    # Row-level security lets all tenants read the row without a tenant.
    is_for_all_without_tenant = True

    tenant = models.OneToOneField(
        Tenant,
        verbose_name=_("tenant"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("Empty: for all that have no choice of their own."),
    )
    is_on = models.BooleanField(
        _("search by meaning"), default=True, help_text=_("Off: full text alone decides, and all vectors are deleted.")
    )
    provider = models.ForeignKey(
        Provider,
        verbose_name=_("provider"),
        null=True,
        blank=True,
        # Without its own choice a tenant's documents would go to the provider that is chosen for all.
        on_delete=models.RESTRICT,
        related_name="+",
        help_text=_("It gets the text of all documents and questions. Empty: the model on this machine, for English."),
    )
    model = models.CharField(_("embedding model"), max_length=200, blank=True, help_text=_("As the provider names it."))

    class Meta:
        verbose_name = _("embedding choice")
        verbose_name_plural = _("embedding choices")
        constraints = [
            models.CheckConstraint(
                condition=Q(provider=None, model="") | (Q(provider__isnull=False) & ~Q(model="")),
                name="embedding_model_of_a_provider",
            )
        ]

    def __str__(self) -> str:
        return self.model or gettext("The model on this machine")

    def clean(self) -> None:
        """Raise `ValidationError` for a provider of somebody else, or without a model."""
        if bool(self.model) != (self.provider_id is not None):
            raise ValidationError({"model": gettext("A provider needs the name of its embedding model, and only it.")})
        if self.provider is not None and self.provider.tenant_id not in (None, self.tenant_id):
            raise ValidationError({"provider": gettext("This provider belongs to another tenant.")})
        if self.tenant_id is None and EmbeddingChoice.objects.filter(tenant=None).exclude(pk=self.pk).exists():
            raise ValidationError({"tenant": gettext("There is a choice for all already.")})


class EmbeddingIndex(models.Model):
    """The vectors of a tenant's passages by one encoder; searches use the newest that has been built once."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    encoder = models.CharField(
        _("encoder"), max_length=300, help_text=_("The name of what has made the vectors, with its version.")
    )
    provider = models.ForeignKey(Provider, null=True, on_delete=models.CASCADE, related_name="+")
    model = models.CharField(max_length=200, blank=True)
    built_at = models.DateTimeField(
        _("built at"), null=True, help_text=_("When all passages had vectors first. Empty: not yet.")
    )
    problem = models.CharField(_("problem"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("embedding index")
        verbose_name_plural = _("embedding indexes")
        constraints = [models.UniqueConstraint(fields=["tenant", "encoder"], name="one_index_per_encoder")]

    def __str__(self) -> str:
        return self.encoder


class PassageVector(models.Model):
    """The meaning of a passage, as an encoder has put it: never changed, and deleted with its passage."""

    left_out_of_exports = ("vector",)

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    index = models.ForeignKey(EmbeddingIndex, on_delete=models.CASCADE, related_name="vectors")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="+")
    vector = models.BinaryField(help_text=_("A signed byte for each dimension; its length means nothing."))

    class Meta:
        verbose_name = _("vector of a passage")
        verbose_name_plural = _("vectors of passages")
        constraints = [models.UniqueConstraint(fields=["index", "passage"], name="one_vector_per_passage")]
        # Each search asks how many there are and for the newest, and reads no vector for that.
        indexes = [models.Index(fields=["tenant", "index", "id"], name="vectors_of_an_index")]

    def __str__(self) -> str:
        return str(self.passage_id)
