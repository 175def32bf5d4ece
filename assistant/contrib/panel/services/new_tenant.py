"""Sets up a whole tenant in one step: with its first assistant, or as a copy of another tenant."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils.text import slugify

from assistant.models import (
    Assistant,
    Membership,
    PromptVariable,
    PromptVersion,
    Retention,
    Tenant,
    TenantLimits,
    ToolSetting,
)
from assistant.services.assistants.first_assistant import add_first_assistant
from assistant.services.assistants.prompts import draft_prompt, publish_prompt, text_to_edit
from assistant.services.tenancy import audit_trail, change_notices
from assistant.services.tenancy.memberships import add_member
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.switch_changes import set_switch

# What a copy takes from the other tenant's row.
_COPIED = ("ends_runs_on_tool_failure", "after_untrusted", "trusts_documents")


_copied_by_apps: list[Callable[[Tenant, Mapping[int, Assistant]], None]] = []


def copy_with(function: Callable[[Tenant, Mapping[int, Assistant]], None]) -> None:
    """Have an app copy its rows of a tenant. It is given that tenant, and the copies of its assistants by their ids."""
    _copied_by_apps.append(function)


@dataclass(frozen=True, slots=True)
class FirstAssistant:
    """The first assistant of a new tenant: its name, its prompt, and the tools that are on."""

    name: str
    prompt: str
    tools: Collection[str] = ()


@transaction.atomic
def set_up_tenant(
    *,
    actor: audit_trail.Actor,
    slug: str,
    name: str,
    timezone: str,
    owner: str,
    assistant: FirstAssistant,
    limits: Mapping[str, int | Decimal],
) -> Tenant:
    """Create a tenant with an assistant that can be used at once.

    Args:
        owner: a user name; empty if somebody will be invited.
        limits: columns of `TenantLimits`.

    Raises:
        ValidationError: the slug is taken, or a value is not valid.
        ValueError: there is no such user or tool.
    """
    tenant = _add_tenant(Tenant(slug=slug, name=name, timezone=timezone), owner, actor)
    assistant_slug = slugify(assistant.name)[:63] or "assistant"
    add_first_assistant(tenant=tenant, slug=assistant_slug, name=assistant.name, prompt=assistant.prompt, actor=actor)
    for tool in catalogue.registry():
        if tool.name in assistant.tools or tool.enabled_by_default:
            policy = ToolSetting.Policy.ON if tool.name in assistant.tools else ToolSetting.Policy.OFF
            set_switch(actor=actor, tenant=tenant, assistant=None, tool=tool.name, policy=policy)
    if limits:
        stored = TenantLimits.objects.create(tenant=tenant, **limits)
        values = {key: [None, str(getattr(stored, key))] for key in limits}
        audit_trail.record(actor=actor, action="limits.set", target=slug, tenant=tenant, details={"values": values})
    return tenant


@transaction.atomic
def copy_tenant(*, actor: audit_trail.Actor, source: Tenant, slug: str, name: str, timezone: str, owner: str) -> Tenant:
    """Create a tenant with the assistants, published prompts, variables, tools, limits and retention of another one.

    Never copied: people, secrets, and what holds them (own providers, MCP servers, webhooks, keys), documents, and
    everything that was said. Assistants with a provider of the other tenant's own use the new tenant's.

    Raises:
        ValidationError, ValueError: as `set_up_tenant` does.
    """
    options = {field: getattr(source, field) for field in _COPIED}
    tenant = Tenant(slug=slug, name=name, timezone=timezone, **options)
    provider = source.default_provider
    tenant.default_provider = provider if provider is not None and provider.tenant_id is None else None
    _copy_fallback(source, tenant)
    _add_tenant(tenant, owner, actor, copy_of=source.slug)
    for model in (Retention, PromptVariable):
        for row in model.objects.filter(tenant=source):
            _copied(row, tenant=tenant).save()
    _copy_limits(source, tenant)
    copies = {old.pk: _copy_assistant(old, tenant, actor) for old in _assistants(source)}
    for copy in _copied_by_apps:
        copy(source, copies)
    _copy_switches(source, tenant, copies)
    counts = {"assistants": len(copies), "tools": ToolSetting.objects.filter(tenant=tenant).count()}
    details = {"from": source.slug, **counts}
    audit_trail.record(actor=actor, action="tenant.copy", target=slug, tenant=tenant, details=details)
    change_notices.notify()
    return tenant


def _add_tenant(tenant: Tenant, owner: str, actor: audit_trail.Actor, **details: str) -> Tenant:
    tenant.full_clean()
    tenant.save()
    audit_trail.record(actor=actor, action="tenant.add", target=tenant.slug, tenant=tenant, details=details)
    if owner:
        add_member(tenant=tenant, username=owner, role=Membership.Role.OWNER)
        audit_trail.record(actor=actor, action="membership.add", target=owner, tenant=tenant)
    return tenant


def _assistants(source: Tenant) -> models.QuerySet[Assistant]:
    return Assistant.objects.filter(tenant=source).select_related("provider", "fallback_provider")


def _copy_assistant(old: Assistant, tenant: Tenant, actor: audit_trail.Actor) -> Assistant:
    made: Assistant = _copied(old, tenant=tenant)
    if old.provider is not None and old.provider.tenant_id is not None:
        made.provider = None
    _copy_fallback(old, made)
    made.save()
    published = old.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).first()
    if published is not None:
        draft = draft_prompt(assistant=made, text=text_to_edit(published), label=published.label, actor=actor)
        publish_prompt(version=draft, actor=actor)
    return made


def _copy_fallback(old: Tenant | Assistant, made: Tenant | Assistant) -> None:
    """Copy what answers when the first model cannot, unless that is a provider of the other tenant's own."""
    provider = old.fallback_provider
    is_shared = provider is None or provider.tenant_id is None
    made.fallback_provider = provider if is_shared else None
    made.fallback_model = old.fallback_model if is_shared else ""


def _copy_limits(source: Tenant, tenant: Tenant) -> None:
    """Copy the limits, not a provider of the other tenant's own."""
    for old in TenantLimits.objects.filter(tenant=source).select_related("soft_provider"):
        made: TenantLimits = _copied(old, tenant=tenant)
        if old.soft_provider is not None and old.soft_provider.tenant_id is not None:
            made.soft_percent = None
            made.soft_provider = None
            made.soft_model = ""
        made.save()


def _copy_switches(source: Tenant, tenant: Tenant, assistants: Mapping[int, Assistant]) -> None:
    """Copy the settings of the catalogue's tools, not of external servers', without their secrets."""
    rows = ToolSetting.objects.filter(tenant=source).defer("secrets")
    ToolSetting.objects.bulk_create(
        ToolSetting(
            tenant=tenant,
            assistant=None if row.assistant_id is None else assistants[row.assistant_id],
            tool=row.tool,
            policy=row.policy,
            reason=row.reason,
            until=row.until,
            config=row.config,
        )
        for row in rows
        if row.tool in catalogue.registry()
    )


def _copied(row: Any, **values: Any) -> Any:
    """Return an unsaved copy of a row, with these values."""
    fields = {
        field.name: getattr(row, field.name)
        for field in row._meta.concrete_fields
        if not field.primary_key and field.name not in values
    }
    return type(row)(**fields, **values)


def check_new_slug(slug: str) -> None:
    """Raise `ValidationError` if a tenant has this short name already."""
    if Tenant.objects.filter(slug=slug).exists():
        raise ValidationError("A tenant has this short name already.")
