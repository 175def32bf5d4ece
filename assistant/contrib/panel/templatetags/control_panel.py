"""The template tag of the admin's index page, and what lists say that have no rows."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings
from django.contrib.admin.templatetags.admin_list import result_list
from django.core.exceptions import ImproperlyConfigured
from django.template import Context
from django.utils.functional import Promise

from assistant.contrib.panel.admin.base.empty_lists import EMPTY_LISTS
from assistant.contrib.panel.admin.lists import cells
from assistant.core.values.pricing import MILLIONTHS
from assistant.models import Assistant
from assistant.services.assistants.provider_choice import describe_provider
from assistant.services.tenancy.memberships import administered_tenants

register = template.Library()

SHOWN_ASSISTANTS = 12


@register.filter
def empty_text(model: str) -> str | Promise:
    """Return what the list of a model says while it has no rows."""
    return EMPTY_LISTS.get(model, "")


@register.simple_tag
def currency() -> str:
    """Return what all costs are in."""
    return str(settings.ASSISTANT_CURRENCY)


@register.filter
def money(amount: Any) -> str:
    """Return an amount with its currency; empty without one."""
    return "" if amount in (None, "") else cells.money(amount)


@register.filter
def small_money(amount: Any) -> str:
    """Return an amount with its currency and, below a hundredth, as many decimals as it needs; empty without one."""
    return "" if amount in (None, "") else cells.money_of(round(amount * MILLIONTHS))


@register.inclusion_tag("admin/assistant/lists/results.html", takes_context=True)
def panel_results(context: Context) -> dict[str, Any]:
    """Return the rows of a list as Django's own tag does, for the panel's table."""
    return dict(result_list(context["cl"]))


@register.inclusion_tag("admin/assistant/answering.html", takes_context=True)
def who_answers(context: Context) -> dict[str, Any]:
    """List the first `SHOWN_ASSISTANTS` assistants of the user, or of the picked tenant, with provider and model."""
    user = context["request"].user
    rows = Assistant.objects.filter(is_active=True).select_related("provider", "tenant", "tenant__default_provider")
    rows = rows.prefetch_related("tenant__providers")
    panel = context.get("panel")
    if panel is not None and panel.picker.picked is not None:
        rows = rows.filter(tenant=panel.picker.picked)
    if not user.is_superuser:
        rows = rows.filter(tenant_id__in=administered_tenants(user))
    try:
        found = list(rows[: SHOWN_ASSISTANTS + 1])
    except ImproperlyConfigured as exc:
        return {"problem": str(exc)}
    answers = [(assistant, describe_provider(assistant)) for assistant in found[:SHOWN_ASSISTANTS]]
    return {"answers": answers, "has_more": len(found) > SHOWN_ASSISTANTS}
