"""Who may approve a tool call: with the four-eyes rule, only somebody else than the person who asked."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.services.errors import Refused
from assistant.toolkit.context import UserId

SENTENCE = gettext_noop(
    "Somebody else must approve this: who asked may not approve a call of their own here. You can still reject it."
)


class OwnApproval(Refused):
    """Somebody has approved a call that they asked for, in a tenant that wants another person to (four-eyes)."""

    def __init__(self) -> None:
        super().__init__("approval_forbidden", _(SENTENCE))


def check_approver(*, by_others: bool, asked_by: UserId, decided_by: UserId) -> None:
    """Raise `OwnApproval` if the tenant wants approvals by others and the two users are the same.

    Args:
        by_others: `Tenant.approvals_by_others`.
    """
    if by_others and asked_by == decided_by:
        raise OwnApproval
