"""A user's second factors: listing them, recording changes, and removing them when one is lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from assistant.contrib.sign_in.services.policy import authenticators_of, factors_of, is_on, is_required_of
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.row_scope import all_tenants
from assistant.services.tenancy.sessions import end_sessions

Event = Literal["added", "removed", "renewed", "used", "failure"]
_KINDS = {"totp": _("Authenticator app"), "webauthn": _("Passkey"), "recovery_codes": _("Recovery codes")}


@dataclass(frozen=True, slots=True)
class FactorLine:
    """What may be shown of a factor to operators: never its secret."""

    kind: str
    name: str
    added_at: datetime
    used_at: datetime | None


def list_factors(user: Any) -> list[FactorLine]:
    """Return the user's factors and recovery codes; none where ASSISTANT_SECOND_FACTOR is off."""
    if not is_on():
        return []
    return [
        FactorLine(str(_KINDS.get(row.type, row.type)), str(row.data.get("name", "")), row.created_at, row.last_used_at)
        for row in authenticators_of(user).order_by("created_at", "pk")
    ]


def may_remove(user: Any, factor: Any) -> bool:
    """Return whether a user may remove one of their factors: not the last one if they have to have one."""
    return not is_required_of(user) or factors_of(user).exclude(pk=factor.pk).exists()


def record_factor(request: HttpRequest, user: Any, event: Event, kind: str) -> None:
    """Record in the audit trail what happened to a factor: `signin.factor_added`, `signin.factor_used` and so on."""
    if not is_on():
        return
    details = {"factor": kind, "address": str(request.META.get("REMOTE_ADDR") or "")}
    # Users belong to no tenant: such rows are the operators'.
    with all_tenants():
        audit_trail.record(actor=user, action=f"signin.factor_{event}", target=user.get_username(), details=details)


@transaction.atomic
def reset_second_factor(*, user: Any, actor: audit_trail.Actor) -> int:
    """Remove a user's factors and recovery codes because one was lost, and sign the user out everywhere.

    The password alone signs them in then, until they have set up a factor again.

    Args:
        actor: the operator; None for a command.

    Returns:
        The number of removed rows.
    """
    count: int = authenticators_of(user).delete()[0]
    end_sessions(user)
    with all_tenants():
        audit_trail.record(
            actor=actor, action="signin.factor_reset", target=user.get_username(), details={"removed": count}
        )
    return count
