"""The names of the tools that ask assistants."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Exists, OuterRef, QuerySet

from assistant.contrib.sub_agents.models import Delegation
from assistant.models import Assistant

# What the name of such a tool begins with.
_ASK = "ask_"


def tool_name_of(slug: str) -> str:
    """Return the name of the tool that asks an assistant."""
    return f"{_ASK}{slug.replace('-', '_')}"[:64]


def has_delegates() -> Exists:
    """Return the condition of assistants that may ask others."""
    rows = Delegation.objects.filter(tenant=OuterRef("tenant"), assistant=OuterRef("pk"))
    return Exists(rows.filter(delegates__isnull=False))


def titles_of(*, tenant_id: int, names: Collection[str] | None) -> dict[str, str]:
    """Return the names of a tenant's assistants by those of the tools that ask them; with a query if any may be named.

    Args:
        names: of the tools that are meant; None for all.
    """
    if names is not None and not any(name.startswith(_ASK) for name in names):
        return {}
    rows = Assistant.objects.filter(tenant_id=tenant_id).order_by("-slug").values_list("slug", "name")
    return {tool_name_of(slug): name for slug, name in rows}


def askable(*, tenant_id: int, assistant_id: int) -> QuerySet[Assistant]:
    """Return the active assistants of the tenant that one may ask."""
    return Assistant.objects.filter(
        tenant_id=tenant_id, delegators__tenant_id=tenant_id, delegators__assistant_id=assistant_id, is_active=True
    )


def callable_names(*, tenant_id: int, assistant_id: int) -> set[str]:
    """Return the names of the tools with which an assistant asks others."""
    slugs = askable(tenant_id=tenant_id, assistant_id=assistant_id).values_list("slug", flat=True)
    return {tool_name_of(slug) for slug in slugs}
