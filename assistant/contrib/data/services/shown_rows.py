"""A row that a page of the project shows, as the person who looks at it may name it in their chats."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db import transaction
from django.db.models import Model
from django.urls import reverse

from assistant.contrib.data.services import references
from assistant.contrib.data.services.plans import Plan, plan_for
from assistant.contrib.data.services.reach import context_of
from assistant.contrib.data.services.references import NamedRow
from assistant.models import Membership
from assistant.services.tenancy.row_scope import all_tenants, tenant_scope
from assistant.toolkit import ToolError

logger = logging.getLogger(__name__)
# Memberships of one person that are looked at: only staff of several tenants have more than one.
MAX_MEMBERSHIPS = 20

# The parameter of a chat's address that names the row that it is about.
QUERY = "about"


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row that somebody may see as a member of a tenant."""

    row: NamedRow
    tenant_slug: str


def shown_row(user: Any, row: Any) -> ShownRow | None:
    """Return a row as a person may name it; None if no tenant of theirs has it, or they may not see it there.

    Rows of models that are not exposed are never named. One query, and one for each tenant of the person until it is
    found.
    """
    plan = plan_for(type(row)) if isinstance(row, Model) else None
    if plan is None or plan.problem or row.pk is None or not getattr(user, "is_authenticated", False):
        return None
    for membership in _memberships(user):
        found = _named(plan, row, membership)
        if found is not None:
            return ShownRow(found, membership.tenant.slug)
    return None


@all_tenants()
def _memberships(user: Any) -> list[Membership]:
    members = Membership.objects.filter(user_id=user.pk, user__is_active=True, tenant__is_active=True)
    return list(members.select_related("tenant", "user").order_by("pk")[:MAX_MEMBERSHIPS])


def _named(plan: Plan, row: Any, membership: Membership) -> NamedRow | None:
    """Return the row as a member names it. The project's page is shown whatever its rules for the assistant do."""
    try:
        # Not with `reading`, whose limits would last for the rest of the page's own transaction.
        with tenant_scope(membership.tenant_id), transaction.atomic():
            return references.named_row(plan, row.pk, context_of(membership))
    except ToolError:
        return None
    except Exception:
        logger.exception("Whether a page's row of %s may be seen cannot be asked", plan.label)
        return None


def ask_url(user: Any, row: Any) -> str:
    """Return the address of a new conversation of a person about a row; "" if they may not see it."""
    found = shown_row(user, row)
    if found is None:
        return ""
    address = reverse("assistant:chat", kwargs={"tenant": found.tenant_slug})
    return f"{address}?{urlencode({QUERY: found.row.reference})}"
