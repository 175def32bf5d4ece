"""What a member's page shows below its form, each part to those who may see the like of it elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from assistant.admin.base.changes import sentence_of_entry
from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.contrib.panel.admin.base.action_titles import action_title
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, may_show
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.reports import member_page
from assistant.contrib.panel.services.quota_report import QuotaUsage, use_of_member, use_of_tenant
from assistant.models import Membership, Tenant, TenantLimits
from assistant.services.tenancy.api_keys import works

# Takes the request and the member; returns a section of HTML, "" for none. It checks who may see it.
Section = Callable[[HttpRequest, Membership], SafeString | str]
_added: list[Section] = []


def add_member_section(section: Section) -> None:
    """Show a section of an optional app on the pages of members."""
    _added.append(section)


def sections_of(request: HttpRequest, member: Membership) -> dict[str, Any]:
    """Return what the page of a member shows to the user, by the permissions that they have in the tenant."""
    now = timezone.now()
    shown: dict[str, Any] = {"runs": member_page.runs_of(member=member, now=now), "days": member_page.DAYS}
    shown["limits"] = _limits(member)
    if _may(request, member, "spend"):
        spent = member_page.spent_by(member=member, now=now)
        shown |= {"spent": spent, "cost": sum(one.cost for one in spent)}
    if _may(request, member, "read_chats"):
        shown |= _chats(request, member)
        refused = member_page.refused_to(member=member, now=now)
        shown["refused"] = [(call, shown_rule(call.rule)) for call in refused]
    if _may(request, member, "keys"):
        shown["api_keys"] = [(key, works(key)) for key in member_page.keys_of(member=member)]
    if _may(request, member, ""):
        changes = member_page.changes_about(member=member, now=now)
        shown["changes"] = [(entry, action_title(entry.action), sentence_of_entry(entry)) for entry in changes]
    shown["added"] = [part for section in _added if (part := section(request, member))]
    return shown


def _may(request: HttpRequest, member: Membership, permission: str) -> bool:
    """Whether the user has a permission in the member's tenant; "" for what its admins alone see."""
    return is_operator(request) or member.tenant_id in permitted_of(request).tenants(permission)


def _chats(request: HttpRequest, member: Membership) -> dict[str, Any]:
    rows = member_page.conversations_of(member=member)
    ratings = member_page.ratings_by(member=member)
    return {
        "conversations": [(row, row if may_show(request, row) else f"{str(row.pk)[:8]} ({HIDDEN})") for row in rows],
        "ratings": [(row, row.comment if may_show(request, row.message.conversation) else "") for row in ratings],
    }


def _limits(member: Membership) -> list[dict[str, Any]]:
    """Return the limits that bind a member: whose each is, what is used, and who has set it."""
    tenant = member.tenant
    own = getattr(tenant, "limits", None)
    of_member = use_of_member(tenant=tenant, user_id=member.user_id)
    of_all = use_of_tenant(tenant=tenant)
    return [
        *(_limit(_("This member"), line, "member", own, tenant) for line in of_member),
        *(_limit(_("All together"), line, "tenant", own, tenant) for line in of_all),
    ]


def _limit(whose: str, line: QuotaUsage, prefix: str, own: TenantLimits | None, tenant: Tenant) -> dict[str, Any]:
    is_own = own is not None and getattr(own, f"{prefix}_{line.key}") is not None
    return {"whose": whose, "line": line, "set_by": tenant.name if is_own else _("the deployment")}
