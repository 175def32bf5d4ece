"""Chooses the provider and model: the assistant's, else the tenant's, the deployment's, or the embedded model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal

from django.conf import settings
from django.utils.translation import gettext as _

from assistant.core.llm.protocol import Model
from assistant.core.values.pricing import NO_PRICES, Prices, read_prices
from assistant.core.values.wire_formats import CHAT_COMPLETIONS
from assistant.models import Assistant, Provider
from assistant.providers import FORMATS, model_class
from assistant.providers.embedded import MODEL_NAME, EmbeddedModel, StandIn
from assistant.providers.given_settings import InvalidSetting, address_of, key_of, name_of
from assistant.providers.openai_wire.request_body import InvalidExtraBody, checked_extra_body, reserved_by
from assistant.providers.profiles.choice import KINDS, profile_of
from assistant.providers.profiles.profile import sees_nothing
from assistant.providers.unavailable import UnavailableModel
from assistant.services.assistants.additions import listed_prices
from assistant.services.assistants.refused_tools import digests_of, on_refused_tool
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.toolkit.guards.url_guard import UrlGuard

logger = logging.getLogger(__name__)

# Models, and kinds of providers, that a process keeps.
MAX_KEPT = 1_000

Source = Literal["assistant", "tenant", "deployment", "embedded", "stand-in", "soft threshold", "fallback"]


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """The provider and model of a run; `source` is the layer that decided.

    `is_guarded` is set if a tenant chose the address, which then must be on the public internet or in
    ASSISTANT_INTERNAL_HOSTS.
    `refused_tools` are digests of tools that the provider does not take.
    """

    source: Source
    name: str
    model: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    is_small: bool = False
    is_strict: bool = False
    sees_images: bool = False
    reads_pdfs: bool = False
    is_guarded: bool = False
    wire_format: str = CHAT_COMPLETIONS
    kind: str = ""
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    provider_id: int | None = None
    provider_tenant_id: int | None = None
    refused_tools: frozenset[str] = frozenset()
    prices: Prices = field(default=NO_PRICES, compare=False)

    @property
    def label(self) -> str:
        """The names of the provider and the model."""
        return f"{self.name}, {self.model}" if self.model else self.name

    @property
    def sentence(self) -> str:
        """The choice as text for pages, in their language: the provider, the model and the layer that decided."""
        by = {
            # For pages: in brackets after the names of the provider and the model
            "assistant": _("set for this assistant"),
            # For pages: in brackets after the names of the provider and the model
            "tenant": _("the tenant's"),
            # For pages: in brackets after the names of the provider and the model
            "deployment": _("the deployment's default"),
            # For pages: in brackets after the names of the provider and the model
            "embedded": _("the embedded model, on this machine"),
            # For pages: in brackets after the names of the provider and the model
            "stand-in": _("no language model is configured"),
            # For pages: in brackets after the names of the provider and the model
            "soft threshold": _("the tenant's soft threshold of cost is reached"),
            # For pages: in brackets after the names of the provider and the model
            "fallback": _("when the first cannot answer"),
        }[self.source]
        return f"{self.name if self.source == 'stand-in' else self.label} ({by})"


def choose_provider(assistant: Assistant) -> ProviderChoice:
    """Choose the provider of an assistant that `with_prompt` has read.

    A provider of another tenant is never used, even if a row refers to it.
    """
    if (own := _if_not_foreign(assistant.provider, assistant)) is not None:
        return choice_of("assistant", own, assistant, model=assistant.model)
    tenants = _if_not_foreign(assistant.tenant.default_provider, assistant) or _oldest_own(assistant)
    if tenants is not None:
        return choice_of("tenant", tenants, assistant, model=assistant.model)
    if settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL:
        return ProviderChoice(
            source="deployment",
            name=_deployments_name(),
            model=assistant.model or settings.OPENAI_MODEL or FORMATS[settings.OPENAI_WIRE_FORMAT].default_model,
            base_url=settings.OPENAI_BASE_URL,
            api_key=settings.OPENAI_API_KEY,
            wire_format=settings.OPENAI_WIRE_FORMAT,
            prices=prices_of(settings.ASSISTANT_MODEL_PRICES, assistant),
        )
    if settings.ASSISTANT_LOCAL_MODEL_URL:
        return ProviderChoice(
            "embedded", "Embedded model", MODEL_NAME, settings.ASSISTANT_LOCAL_MODEL_URL, is_small=True
        )
    return ProviderChoice("stand-in", StandIn.provider, StandIn.name)


def _deployments_name() -> str:
    wire = FORMATS[settings.OPENAI_WIRE_FORMAT]
    if not wire.has_kinds:
        return wire.label
    return "OpenAI" if not settings.OPENAI_BASE_URL else "OpenAI-compatible server"


def _if_not_foreign(provider: Provider | None, assistant: Assistant) -> Provider | None:
    if provider is None or provider.tenant_id in (None, assistant.tenant_id):
        return provider
    logger.error("Assistant %s refers to provider %s of another tenant, which is not used", assistant.slug, provider.pk)
    return None


def _oldest_own(assistant: Assistant) -> Provider | None:
    """Return the tenant's oldest provider that is in use: a tenant with one does not use the deployment's."""
    # Queried only if `with_prompt` has found one or was not used.
    if not getattr(assistant, "has_own_providers", True):
        return None
    # Not filtered by the database: pages with many assistants have fetched these rows for all of them.
    used = (row for row in assistant.tenant.providers.all() if not row.is_untested)
    return min(used, key=lambda row: row.pk, default=None)


def choice_of(source: Source, provider: Provider, assistant: Assistant, *, model: str) -> ProviderChoice:
    """Return the choice of a provider for an assistant that `with_prompt` has read; "" is its default model."""
    model = model or provider.default_model
    kind, takes_images = _kind_of(provider.wire_format, provider.kind, provider.base_url, model)
    # The provider's own field is about its default model.
    takes_images &= model == provider.default_model or not sees_nothing(model)
    return ProviderChoice(
        source=source,
        name=provider.name,
        model=model,
        base_url=provider.base_url,
        api_key=provider.api_key,
        is_small=provider.is_small,
        is_strict=provider.is_strict,
        sees_images=provider.sees_images and takes_images,
        reads_pdfs=provider.reads_pdfs and takes_images,
        is_guarded=provider.tenant_id is not None,
        wire_format=provider.wire_format,
        kind=kind,
        extra_body=_extra_body(provider) if provider.extra_body else {},
        provider_id=provider.pk,
        provider_tenant_id=provider.tenant_id,
        refused_tools=digests_of(provider) if provider.refused_tools else frozenset(),
        prices=_prices(provider, assistant),
    )


@lru_cache(MAX_KEPT)
def _kind_of(wire_format: str, kind: str, url: str, model: str) -> tuple[str, bool]:
    """Return the kind of a provider, "" if it has none, and whether it takes images."""
    # A row that a later version wrote may name a format, or a kind, that is not known here.
    if wire_format not in FORMATS or not FORMATS[wire_format].has_kinds:
        return "", True
    known = kind if kind in KINDS else ""
    return known, profile_of(known, url, model).content != "text"


def choose_other_model(choice: ProviderChoice, assistant: Assistant, model: str) -> ProviderChoice:
    """Return an assistant's choice with another of the models that it lists. Raises `ValueError` if it does not."""
    if model == choice.model:
        return choice
    if model not in assistant.other_models or choice.source in ("embedded", "stand-in"):
        raise ValueError("forwardedProps.model must be one of the assistant's other models.")
    _, takes_images = _kind_of(choice.wire_format, choice.kind, choice.base_url, model)
    takes_images = takes_images and not sees_nothing(model)
    return replace(
        choice,
        model=model,
        sees_images=choice.sees_images and takes_images,
        reads_pdfs=choice.reads_pdfs and takes_images,
    )


def check_prices(prices: object) -> None:
    """Check prices in the format of `Provider.prices`. Raises `ValueError`."""
    read_prices(prices)


def _extra_body(provider: Provider) -> Mapping[str, Any]:
    try:
        return checked_extra_body(provider.extra_body, reserved_by(provider.wire_format))
    except InvalidExtraBody:
        # The admin refuses such options, but a row that was written elsewhere must not make runs fail.
        logger.warning("The further options of provider %s are not allowed and not sent", provider.pk)
        return {}


def _prices(provider: Provider, assistant: Assistant) -> Prices:
    is_tenants = provider.tenant_id is not None
    try:
        return prices_of(provider.prices or {}, assistant, provider_id=provider.pk, is_tenants=is_tenants)
    except ValueError:
        # The admin refuses such prices, but a row that was written elsewhere must not make runs fail.
        logger.warning("The prices of provider %s cannot be read", provider.pk)
        return prices_of({}, assistant, provider_id=provider.pk, is_tenants=is_tenants)


_replacement: Callable[[ProviderChoice], Model] | None = None


def replace_models(make: Callable[[ProviderChoice], Model] | None) -> Callable[[ProviderChoice], Model] | None:
    """Let `make` return the model of every choice from now on, or end that with None. Returns what did so until now.

    Called by `assistant.testing`, so that the tests of a project ask no provider.
    """
    global _replacement
    before, _replacement = _replacement, make
    return before


def answers_asides(choice: ProviderChoice) -> bool:
    """Return whether a choice's model is asked for titles and the like: not a small one, nor that of a test."""
    return choice.source not in ("embedded", "stand-in") and _replacement is None


def model_of(choice: ProviderChoice) -> Model:
    """Return the model of a choice."""
    if _replacement is not None:
        return _replacement(choice)
    if choice.source == "stand-in":
        return StandIn()
    if choice.source == "embedded":
        return EmbeddedModel(base_url=choice.base_url)
    if problem := format_problem(choice.wire_format, is_tenants=choice.is_guarded):
        return UnavailableModel(choice.model, provider=choice.name, reason=problem)
    try:
        return _made(choice, tenant_guard() if choice.is_guarded else None)
    except InvalidSetting as exc:
        return UnavailableModel(choice.model, provider=choice.name, reason=str(exc))


@lru_cache(MAX_KEPT)
def _made(choice: ProviderChoice, guard: UrlGuard | None) -> Model:
    """Return the model of a choice, once for all runs that have the same. Raises `InvalidSetting`."""
    _check_values(choice)
    options: dict[str, Any] = {"kind": choice.kind} if FORMATS[choice.wire_format].has_kinds else {}
    made: Model = model_class(choice.wire_format)(
        choice.model,
        base_url=choice.base_url,
        api_key=choice.api_key,
        provider=choice.name,
        small=choice.is_small,
        strict=choice.is_strict or None,
        sees_images=choice.sees_images,
        reads_pdfs=choice.reads_pdfs,
        guard=guard,
        extra_body=choice.extra_body,
        refused_tools=choice.refused_tools,
        on_refused_tool=partial(on_refused_tool, choice.provider_id, choice.provider_tenant_id, choice.name),
        **options,
    )
    return made


def problem_of(choice: ProviderChoice) -> str:
    """Return why no model of a choice can be made in this deployment; "" if one can."""
    if problem := format_problem(choice.wire_format, is_tenants=choice.is_guarded):
        return problem
    try:
        _check_values(choice)
    except InvalidSetting as exc:
        return str(exc)
    return ""


def _check_values(choice: ProviderChoice) -> None:
    """Raise `InvalidSetting` for an address, a key or a name that cannot be used."""
    is_deployments = choice.source == "deployment"
    address_of(choice.base_url, "OPENAI_BASE_URL" if is_deployments else _("The base URL"))
    key_of(choice.api_key, "OPENAI_API_KEY" if is_deployments else _("The API key"))
    name_of(choice.model, _("The model's name"))


def format_problem(wire_format: str, *, is_tenants: bool) -> str:
    """Return why providers cannot speak a wire format in this deployment; "" if they can.

    Args:
        is_tenants: the provider is a tenant's own, which ASSISTANT_TENANT_WIRE_FORMATS limits.
    """
    wire = FORMATS.get(wire_format)
    if wire is None:
        return _("This version does not know the wire format of this provider.")
    if is_tenants and wire_format not in settings.ASSISTANT_TENANT_WIRE_FORMATS:
        return _("%(format)s is switched off for tenants' own providers (ASSISTANT_TENANT_WIRE_FORMATS).") % {
            "format": wire.label
        }
    if wire.package and not wire.is_installed:
        return _("%(format)s needs a package that is not installed: pip install '%(extra)s'") % {
            "format": wire.label,
            "extra": wire.extra,
        }
    return ""


def describe_provider(assistant: Assistant) -> str:
    """Return the provider and model of an assistant as text for its page and the admin."""
    return choose_provider(assistant).sentence


def prices_of(
    undated: object, assistant: Assistant, *, provider_id: int | None = None, is_tenants: bool = False
) -> Prices:
    """Return the prices of a provider's models for the runs of an assistant.

    What an optional app's list says of the provider comes first, then what it says of any provider, then what the
    provider or the environment says, `undated`. Where a tenant's own provider has a price, it comes before those for
    any provider.

    Args:
        assistant: as `with_prompt` has read it.
        provider_id: None for the environment's provider.

    Raises:
        ValueError: `undated` is not valid.
    """
    own, general = listed_prices(assistant, provider_id)
    if not (own or general):
        return read_prices(undated) if undated else NO_PRICES
    if is_tenants:
        return read_prices(undated, before=(own,), after=(general,))
    return read_prices(undated, before=(own, general))
