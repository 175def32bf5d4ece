"""Makes the bundle of a tenant or of one assistant, and its text. The number of queries is constant."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC
from typing import Any

from django.db.models import Q, QuerySet
from pydantic import ValidationError

from assistant.contrib.bundles.services.format import (
    ASSISTANT_COLUMNS,
    FORMAT,
    TENANT_PROVIDERS,
    VERSION,
    AssistantPart,
    Bundle,
    LimitsPart,
    ProviderName,
    SettingsPart,
    ToolPart,
    VariablePart,
    invalid,
)
from assistant.contrib.bundles.services.parts import added_entries, bundle_type
from assistant.core.values.prompt_template import with_escaped_braces
from assistant.models import Assistant, PromptVariable, Provider, Tenant, TenantLimits, ToolSetting
from assistant.services.assistants.configuration import with_prompt


def bundle_of_tenant(*, tenant: Tenant) -> Bundle:
    """Return the configuration of a tenant: its settings, limits, tools and assistants, and what apps add.

    Raises:
        BundleError: a row has a value that the forms do not allow, and so no bundle has.
    """
    try:
        return _bundle_of_tenant(tenant)
    except ValidationError as exc:
        raise invalid(exc) from None


def _bundle_of_tenant(tenant: Tenant) -> Bundle:
    own: dict[str, Any] = {}
    limits = TenantLimits.objects.filter(tenant=tenant).first()
    if limits is not None:
        own["limits"] = LimitsPart(**{name: getattr(limits, name) for name in LimitsPart.model_fields})
    switches = _switches(tenant)
    return bundle_type()(
        format=FORMAT,
        version=VERSION,
        kind="tenant",
        settings=_settings(tenant),
        variables=[
            VariablePart(name=row.name, value=row.value)
            for row in PromptVariable.objects.filter(tenant=tenant).order_by("name")
        ],
        tools=_tools(switches, None),
        assistants=[assistant_part(row, switches) for row in read_assistants(tenant)],
        **own,
        **added_entries(tenant, None),
    )


def bundle_of_assistant(*, assistant: Assistant) -> Bundle:
    """Return the configuration of one assistant: its row, published prompt and switches; what apps add.

    Raises:
        BundleError: as `bundle_of_tenant` does.
    """
    switches = _switches(assistant.tenant).filter(assistant=assistant)
    row = read_assistants(assistant.tenant).get(pk=assistant.pk)
    tenant = assistant.tenant
    try:
        part = assistant_part(row, switches)
        added = added_entries(tenant, assistant)
        return bundle_type()(format=FORMAT, version=VERSION, kind="assistant", assistants=[part], **added)
    except ValidationError as exc:
        raise invalid(exc) from None


def text_of(bundle: Bundle) -> str:
    """Return a bundle as the text of a file, indented, so that two versions of it can be compared."""
    value = bundle.model_dump(mode="json", exclude_unset=True)
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def read_assistants(tenant: Tenant) -> QuerySet[Assistant]:
    """Return a tenant's assistants with what `assistant_part` needs, by their slugs."""
    rows = with_prompt(Assistant.objects.filter(tenant=tenant))
    keys = ("provider__api_key", "fallback_provider__api_key", "tenant__default_provider__api_key")
    return (
        rows.select_related("provider", "fallback_provider", "tenant__default_provider").defer(*keys).order_by("slug")
    )


def assistant_part(row: Assistant, switches: Iterable[ToolSetting]) -> AssistantPart:
    """Return an assistant of `read_assistants`, with those of the switches that are its own."""
    return AssistantPart(
        slug=row.slug,
        provider=provider_name(row.provider),
        fallback_provider=provider_name(row.fallback_provider),
        prompt=published_prompt(row),
        tools=_tools(switches, row.pk),
        **{name: getattr(row, name) for name in ASSISTANT_COLUMNS},
    )


def published_prompt(row: Assistant) -> str | None:
    """Return the text of a new version that says the same as the published one of a row of `read_assistants`."""
    text: str | None = getattr(row, "published_text", None)
    if not text:
        return None
    return text if getattr(row, "published_uses_variables") else with_escaped_braces(text)  # noqa: B009 - as above


def provider_name(row: Provider | None) -> ProviderName | None:
    """Return how a bundle names a provider."""
    return None if row is None else ProviderName(name=row.name, of="tenant" if row.tenant_id else "deployment")


def _settings(tenant: Tenant) -> SettingsPart:
    values = {name: getattr(tenant, name) for name in SettingsPart.model_fields if name not in TENANT_PROVIDERS}
    ids = {name: getattr(tenant, f"{name}_id") for name in TENANT_PROVIDERS}
    rows = Provider.objects.defer("api_key").filter(Q(tenant=tenant) | Q(tenant=None))
    found = {row.pk: row for row in rows.filter(pk__in=filter(None, ids.values()))}
    providers: dict[str, Any] = {name: provider_name(found.get(pk)) for name, pk in ids.items()}
    return SettingsPart(**values, **providers)


def _switches(tenant: Tenant) -> QuerySet[ToolSetting]:
    return ToolSetting.objects.filter(tenant=tenant).defer("secrets").order_by("tool")


def _tools(switches: Iterable[ToolSetting], assistant_id: int | None) -> list[ToolPart]:
    return [tool_part(row) for row in switches if row.assistant_id == assistant_id]


def tool_part(row: ToolSetting) -> ToolPart:
    return ToolPart(
        tool=row.tool,
        policy=row.policy,  # type: ignore[arg-type]
        reason=row.reason,
        until=None if row.until is None else row.until.astimezone(UTC).isoformat(),
        config=row.config if isinstance(row.config, dict) else {},
    )
