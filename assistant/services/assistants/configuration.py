"""Reads an assistant's configuration for a run: provider, prompt, limits and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from assistant.core.llm.typed_output import check_schema
from assistant.core.values.limits import Limits
from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.settings import AssistantSettings
from assistant.models import Assistant, PromptVersion, Provider
from assistant.services.assistants.additions import ANNOTATIONS
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.assistants.provider_choice import ProviderChoice

# Starter prompts that the chat shows.
MAX_STARTERS = 4
# Other models of an assistant, and characters of a name.
MAX_OTHER_MODELS, MAX_MODEL_NAME = 8, 200
# The columns of an assistant that hold the limits of its runs, by the names of `Limits`.
LIMIT_COLUMNS = {limit.name: f"max_{limit.name}" for limit in fields(Limits)}
DEFAULT_PROMPT = "You are a helpful assistant of {tenant}. Use the tools you have rather than guessing."


def with_prompt(assistants: QuerySet[Assistant]) -> QuerySet[Assistant]:
    """Add the rows and annotations that `choose_provider` and `prompt_of` need."""
    published = PromptVersion.objects.filter(assistant=OuterRef("pk"), status=PromptVersion.Status.PUBLISHED)
    return assistants.select_related("provider", "tenant", "tenant__default_provider").annotate(
        published_text=Subquery(published.values("text")[:1]),
        published_uses_variables=Subquery(published.values("uses_variables")[:1]),
        published_id=Subquery(published.values("pk")[:1]),
        has_own_providers=Exists(Provider.objects.filter(tenant=OuterRef("tenant"), is_untested=False)),
        **ANNOTATIONS,
    )


def active_assistants(*, tenant_id: int) -> list[Assistant]:
    """Return a tenant's active assistants, ordered by name."""
    rows = Assistant.objects.filter(tenant_id=tenant_id, is_active=True, tenant__is_active=True)
    return list(rows.order_by("name", "pk"))


def find_assistant(*, tenant_id: int, slug: str) -> Assistant | None:
    """Return a tenant's active assistant as `with_prompt` reads it, or None."""
    rows = Assistant.objects.filter(tenant_id=tenant_id, slug=slug, is_active=True, tenant__is_active=True)
    return with_prompt(rows).first()


def prompt_of(assistant: Assistant, values: Callable[[], PromptValues]) -> str:
    """Return the published prompt of an assistant that `with_prompt` has read, or a default, with its values.

    Makes no query, and asks for no values, unless the prompt has variables.
    """
    text: str | None = getattr(assistant, "published_text")  # noqa: B009 - an annotation, unknown to mypy
    if not text:
        return DEFAULT_PROMPT.format(tenant=assistant.tenant.name)
    return values().resolve(text) if getattr(assistant, "published_uses_variables") else text  # noqa: B009 - as above


def may_fall_back(assistant: Assistant) -> bool:
    """Return whether the assistant, as `with_prompt` has read it, or its tenant names a model that takes over."""
    tenant = assistant.tenant
    has_own = assistant.fallback_provider_id is not None or assistant.fallback_model
    return bool(has_own or tenant.fallback_provider_id is not None or tenant.fallback_model)


def use_version(assistant: Assistant, version: PromptVersion) -> None:
    """Let `prompt_of`, and a run that is opened, use this version of an assistant that `with_prompt` has read."""
    found = {
        "published_text": version.text,
        "published_uses_variables": version.uses_variables,
        "published_id": version.pk,
    }
    for name, value in found.items():
        setattr(assistant, name, value)


def read_schema(schema: object) -> dict[str, Any]:
    """Check and return a JSON Schema for an assistant's tasks or answers. Raises `ValueError`."""
    return check_schema(schema)


def read_other_models(names: object) -> list[str]:
    """Check and return the names of an assistant's other models, each once. Raises `ValueError`."""
    if not isinstance(names, list) or not all(isinstance(one, str) and one.strip() == one != "" for one in names):
        raise ValueError("Other models are a list of names.")
    if len(set(names)) > MAX_OTHER_MODELS or any(len(one) > MAX_MODEL_NAME for one in names):
        raise ValueError(f"At most {MAX_OTHER_MODELS} other models, with names of up to {MAX_MODEL_NAME} characters.")
    return list(dict.fromkeys(names))


def settings_of(assistant: Assistant, provider: ProviderChoice) -> AssistantSettings:
    """Return the settings of an assistant's runs, from its row, its tenant and its provider."""
    limits = {name: getattr(assistant, column) for name, column in LIMIT_COLUMNS.items()}
    cost = int(limits["cost"] * MILLIONTHS)
    return AssistantSettings(
        limits=Limits(**{**limits, "seconds": float(limits["seconds"]), "cost": cost}),
        options={} if assistant.temperature is None else {"temperature": assistant.temperature},
        history_tokens=assistant.history_tokens,
        history_messages=assistant.history_messages,
        answer_schema=assistant.answer_schema,
        on_error="raise" if assistant.tenant.ends_runs_on_tool_failure else "model",
        prices=provider.prices,
    )
