"""What a member of a tenant reaches, counted: the member's rows, another tenant's, and those that would be in both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assistant.contrib.data.services.plans import Plan, plans
from assistant.contrib.data.services.reading import reading
from assistant.contrib.data.services.reviews import read_only_reason
from assistant.contrib.data.services.rows import find, narrowing_hint
from assistant.contrib.data.services.structure import structure_of, structure_of_views
from assistant.contrib.data.services.visible_rows import tenants_rows, visible_rows
from assistant.models import Membership, Tenant
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.toolkit import ToolContext, ToolError
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.context import TenantInfo, UserInfo

SAMPLES = 3
MAX_REASON = 200


@dataclass(frozen=True, slots=True)
class Counted:
    """A model's rows: how many the member sees, the tenant has, another tenant has, and are in both by mistake.

    None where they could not be counted; `problem` says why.
    """

    plan: Plan
    seen: int | None = None
    tenants: int | None = None
    others: int | None = None
    shared: int | None = None
    problem: str = ""

    @property
    def structure(self) -> dict[str, Any]:
        return structure_of(self.plan)

    def as_json(self) -> dict[str, Any]:
        """Return it for reviews by programs."""
        counts = {"seen": self.seen, "tenant": self.tenants, "other_tenant": self.others, "in_both": self.shared}
        return {**self.structure, "rows": counts, "uncounted": self.problem}


def context_of(membership: Membership) -> ToolContext:
    """Return the context of a call of a member. The caller may read the member's tenant."""
    tenant = membership.tenant
    info = TenantInfo(tenant.pk, tenant.slug, tenant.name, tenant.timezone, tenant.external_id or "")
    return ToolContext(tenant=info, user=UserInfo(membership.user_id, membership.user.get_username()))


def count_reach(*, membership: Membership, other: Tenant | None) -> list[Counted]:
    """Count what a member reaches of each exposed model.

    Args:
        other: the tenant to compare with; None if there is no other.
    """
    return [_counted(plan, membership, other) for plan in plans()]


def as_json(*, membership: Membership | None, other: Tenant | None) -> dict[str, Any]:
    """Return what a member reaches, for reviews by programs; without a member what is exposed."""
    counted = [Counted(plan) for plan in plans()]
    if membership is not None:
        counted = count_reach(membership=membership, other=other)
    return {
        "tenant": None if membership is None else membership.tenant.slug,
        "member": None if membership is None else membership.user.get_username(),
        "other_tenant": None if other is None else other.slug,
        "read_only": read_only_reason(),
        "models": {one.plan.label: one.as_json() for one in counted},
        "viewsets": structure_of_views(),
    }


def _counted(plan: Plan, membership: Membership, other: Tenant | None) -> Counted:
    if plan.problem:
        return Counted(plan)
    context = context_of(membership)
    others: int | None = None
    shared: int | None = None
    try:
        with tenant_scope(membership.tenant_id), reading(narrowing_hint(plan)):
            seen = None if plan.uses_object_permissions else visible_rows(plan, context).count()
            tenants = tenants_rows(plan, context).count()
        if other is not None:
            theirs = context_of(Membership(tenant=other, user=membership.user))
            with tenant_scope(other.pk), reading(narrowing_hint(plan)):
                others = tenants_rows(plan, theirs).count()
            with tenant_scope(membership.tenant_id, other.pk), reading(narrowing_hint(plan)):
                foreign = tenants_rows(plan, theirs).values("pk")
                shared = None if plan.is_tenantless else visible_rows(plan, context).filter(pk__in=foreign).count()
    except ToolError as exc:
        return Counted(plan, problem=str(exc))
    return Counted(plan, seen, tenants, others, shared)


def sample_rows(*, actor: audit_trail.Actor, membership: Membership, plan: Plan, reason: str) -> list[dict[str, Any]]:
    """Return three rows as the member's tools would give them, which is audited with the reason.

    The caller has checked that `actor` may read the tenant's data.

    Raises:
        ValueError: there is no reason, or it is too long.
        ToolError: the rows cannot be read.
    """
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= MAX_REASON:
        raise ValueError(f"a reason has 1 to {MAX_REASON} characters")
    audit_trail.record(
        actor=actor,
        action="data.sample",
        target=plan.label,
        tenant=membership.tenant,
        details={"reason": reason, "member": membership.user.get_username()},
    )
    with tenant_scope(membership.tenant_id):
        result = find(plan, {"size": SAMPLES}, context_of(membership))
    rows: list[dict[str, Any]] = load_json(result.content)["rows"]
    return rows
