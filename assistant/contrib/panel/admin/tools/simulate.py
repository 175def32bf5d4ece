"""The page "Simulate": the tools, prompt and limits that a member's run with an assistant would have now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from assistant.admin.base.names import state_word
from assistant.admin.base.visible_tenants import picked_tenant, tenants_of
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.lists.cells import money_of
from assistant.contrib.panel.admin.tools.board_request import number_in, require_board
from assistant.contrib.panel.services.prompt_tests.simulation import Simulation, simulate
from assistant.contrib.panel.services.quota_report import limit_name
from assistant.core.llm.protocol import schema_tokens
from assistant.core.values.quota_kinds import NAMES, Quota
from assistant.models import Assistant, Membership, Tenant
from assistant.services.assistants.configuration import LIMIT_COLUMNS
from assistant.services.tenancy.members import Member, active_keys, find_member, member_of_key
from assistant.services.toolpolicy.conditions import told
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit.definition.conditions import Offer

# Choices that a field offers; others are typed.
MAX_CHOICES = 60


def simulate_view(request: HttpRequest) -> HttpResponse:
    """Show the choices, and once they are made, what the run would have. Changes nothing."""
    require_board(request)
    given = {
        name: request.GET.get(name, "").replace("\x00", "").strip()[:200]
        for name in ("tenant", "user", "assistant", "key")
    }
    tenant = _tenant(request, given["tenant"])
    problem, found = "", None
    if tenant is None and given["tenant"]:
        problem = _("There is no such tenant.")
    elif tenant is not None and given["assistant"]:
        problem, found = _simulated(tenant, given)
    context = {
        **admin.site.each_context(request),
        "title": _("Simulate a run"),
        "given": given,
        "tenant": tenant,
        "tenants": tenants_of(request).order_by("name")[:MAX_CHOICES] if tenant is None else (),
        "problem": problem,
        **(_choices(tenant) if tenant is not None else {}),
        **(_shown(found) if found is not None else {}),
    }
    return TemplateResponse(request, "admin/assistant/toolsetting/simulate.html", context)


def _tenant(request: HttpRequest, slug: str) -> Tenant | None:
    """Return the tenant that was asked for; else the picked one, or the user's only one."""
    if slug:
        return tenants_of(request).filter(slug=slug).first()
    picked = picked_tenant(request)
    if picked is not None and tenants_of(request).filter(pk=picked.pk).exists():
        return picked
    some = list(tenants_of(request)[:2])
    return some[0] if len(some) == 1 else None


def _choices(tenant: Tenant) -> dict[str, Any]:
    name = get_user_model().USERNAME_FIELD
    members = Membership.objects.filter(tenant=tenant, user__is_active=True).exclude(role=Membership.Role.END_USER)
    return {
        "users": members.order_by(f"user__{name}").values_list(f"user__{name}", flat=True)[:MAX_CHOICES],
        "assistants": Assistant.objects.filter(tenant=tenant, is_active=True).order_by("name"),
        "keys": active_keys().filter(tenant=tenant).order_by("name").select_related("user")[:MAX_CHOICES],
    }


def _simulated(tenant: Tenant, given: Mapping[str, str]) -> tuple[str, Simulation | None]:
    """Return a sentence that says why nothing can be simulated, or "", and the simulation."""
    if given["key"]:
        member = member_of_key(tenant_id=tenant.pk, key_id=number_in(given["key"]))
        problem = _("This key cannot be used: it is revoked, has expired, or its member may no longer sign in.")
    else:
        member = _member(tenant, given["user"])
        problem = _("There is no active member of this name, or the tenant is not active.")
    if member is None:
        return problem, None
    try:
        found = simulate(member=member, assistant_slug=given["assistant"])
    except ImproperlyConfigured as exc:
        return str(exc), None
    return (_("There is no such active assistant."), None) if found is None else ("", found)


def _member(tenant: Tenant, username: str) -> Member | None:
    name = f"user__{get_user_model().USERNAME_FIELD}"
    user_id = Membership.objects.filter(tenant=tenant, **{name: username}).values_list("user_id", flat=True).first()
    return None if user_id is None else find_member(user_id=user_id, tenant_slug=tenant.slug, with_end_users=True)


def _shown(found: Simulation) -> dict[str, Any]:
    setup = found.setup
    offered = {tool.name: schema_tokens(tool) for tool in found.offered}
    listed = {entry.tool.name for entry in setup.tools}
    return {
        "found": found,
        "prompt": setup.system_prompt,
        "version": getattr(found.state.assistant, "published_id", None),
        "provider": setup.provider.sentence,
        "assistant_id": found.state.assistant.pk,
        "tools": [
            {**_tool(entry, found.conditions.get(entry.tool.name)), "tokens": offered.get(entry.tool.name)}
            for entry in setup.tools
        ],
        # Assistants that may be asked, and the search tool.
        "others": [
            (tool.name, tool.description, offered[tool.name]) for tool in found.offered if tool.name not in listed
        ],
        "offered": len(found.offered),
        "allowed": sum(entry.policy != "off" for entry in setup.tools)
        - sum(offer.offered is None for offer in found.conditions.values()),
        "run_limits": _run_limits(found),
        "quotas": [
            (_("of the tenant"), _quota(setup.quotas.tenant)),
            (_("of each member"), _quota(setup.quotas.member)),
        ],
        "key_limits": _key_limits(found),
    }


def _tool(entry: EffectiveTool, offer: Offer | None) -> dict[str, Any]:
    """Return a tool's row. A tool that hides itself is off, whatever its switches say."""
    policy = "off" if offer is not None and offer.offered is None else entry.policy
    condition = "" if offer is None else told(offer)
    word, rule = state_word(policy), shown_rule(entry.rule)
    return {"name": entry.tool.name, "policy": policy, "word": word, "rule": rule, "condition": condition}


def _run_limits(found: Simulation) -> list[tuple[str, str]]:
    """Return all limits of a run, under the names of the assistant's columns."""
    settings = found.setup.settings
    values = {column: getattr(settings.limits, name) for name, column in LIMIT_COLUMNS.items()}
    values |= {"history_tokens": settings.history_tokens, "history_messages": settings.history_messages}
    names = {field.name: capfirst(str(field.verbose_name)) for field in Assistant._meta.fields}
    return [(names[column], _of_limit(column, value) if value else _("no limit")) for column, value in values.items()]


def _of_limit(name: str, value: float) -> str:
    """Return the value of a limit, an amount with its currency."""
    return money_of(int(value)) if "cost" in name else f"{value:,g}"


def _quota(quota: Quota) -> list[tuple[str, str]]:
    """Return the limits that are set, as names and numbers."""
    values = ((name, getattr(quota, name)) for name in NAMES)
    return [(limit_name(name), _of_limit(name, value)) for name, value in values if value]


def _key_limits(found: Simulation) -> list[tuple[str, str]]:
    limits = found.state.key_limits
    pairs = [
        (_("Requests a minute"), limits.per_minute if limits else None),
        (_("Requests a day"), limits.per_day if limits else None),
        (_("Runs at once"), found.state.key_runs),
    ]
    return [(name, str(value)) for name, value in pairs if value]
