"""Limits of runs at once: of a tenant, a member and an API key over all processes, counted in the rows of active runs.

A run above a limit is stored as `queued`. As many runs may be queued as may run; above that a run is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from assistant.models import Membership, Run, Tenant
from assistant.models.runs import IS_ACTIVE
from assistant.services.errors import Refused
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import Quotas, quotas_of
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.toolkit.context import UserId

# When a refused caller may try again. Nobody knows when a run ends.
RETRY_SECONDS = 10
# More than are opened at the same moment. This far below a limit, runs are counted without a lock.
MARGIN = 16
_SENTENCES = (
    ngettext_lazy(
        "Your organisation has %(count)d run at once, the most allowed%(more)s.",
        "Your organisation has %(count)d runs at once, the most allowed%(more)s.",
        "count",
    ),
    ngettext_lazy(
        "You have %(count)d run at once, the most allowed%(more)s.",
        "You have %(count)d runs at once, the most allowed%(more)s.",
        "count",
    ),
    ngettext_lazy(
        "This key has %(count)d run at once, the most allowed%(more)s.",
        "This key has %(count)d runs at once, the most allowed%(more)s.",
        "count",
    ),
)


class TooManyRuns(Refused):
    """A limit of runs at once is reached, and the queue is full; the message can be shown to the user."""

    def __init__(self, sentence: str) -> None:
        soon = timezone.now() + timedelta(seconds=RETRY_SECONDS)
        super().__init__(
            "limit_reached",
            " ".join((sentence, _("Try again in %(count)d seconds.") % {"count": RETRY_SECONDS})),
            resets_at=soon,
        )


class RunCounts(NamedTuple):
    """Numbers of runs of a tenant, of a member and with an API key; as limits, 0 is no limit."""

    tenant: int = 0
    member: int = 0
    key: int = 0

    def reaches(self, limits: RunCounts) -> bool:
        """Whether any of the limits is reached."""
        return any(limit and count >= limit for limit, count in zip(limits, self, strict=True))


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A queued run, and whose it is.

    Attributes:
        key_limit: that of its API key, 0 without one.
        is_shared: whether any process may start it.
    """

    pk: int
    user_id: UserId
    key_id: int | None
    key_limit: int
    is_end_user: bool
    is_shared: bool = False


def limits_of(quotas: Quotas, key_limit: int | None = None) -> RunCounts:
    """Return the limits of runs at once."""
    return RunCounts(quotas.tenant.runs, quotas.member.runs, key_limit or 0)


def key_of_run(member: Member) -> int | None:
    """Return the primary key of the API key whose limits a member's runs count towards.

    End users' tokens do not count towards the limits of the key that created them.
    """
    return None if member.is_end_user else member.key_id


def exceeds_limits(*, member: Member, limits: RunCounts, active: RunCounts) -> bool:
    """Whether a run that is about to be stored has to be queued. Call it in the transaction that stores the run.

    Args:
        active: how many runs are running or queued, as read without a lock.

    Raises:
        TooManyRuns: the queue is full.
    """
    is_near = [bool(limit) and limit - count <= MARGIN for limit, count in zip(limits, active, strict=True)]
    if any(is_near):
        active = _locked_counts(member, of_tenant=is_near[0], of_member=any(is_near[1:]))
    check_bounds(limits, active)
    return active.reaches(limits)


def queued_run(member: Member, pk: int, key_limit: int | None) -> QueuedRun:
    """Return a member's run, with the limit of the API key, as the queue knows it."""
    return QueuedRun(pk, member.user_id, key_of_run(member), key_limit or 0, member.is_end_user)


def check_bounds(limits: RunCounts, active: RunCounts) -> None:
    """Raise `TooManyRuns` if, with these runs running or queued, one more can neither start nor be queued."""
    places = 2 if settings.ASSISTANT_RUN_QUEUE_SECONDS else 1
    for sentence, limit, count in zip(_SENTENCES, limits, active, strict=True):
        if limit and count >= places * limit:
            more = _(", and as many wait") if places > 1 else ""
            raise TooManyRuns(sentence % {"count": limit, "more": more})


def active_runs(*, tenant_id: int) -> QuerySet[Run]:
    """Return a tenant's running and queued runs."""
    return Run.objects.filter(IS_ACTIVE, tenant_id=tenant_id)


def _locked_counts(member: Member, *, of_tenant: bool, of_member: bool) -> RunCounts:
    """Count active runs, while no other process opens one of the tenant or of the member."""
    if of_tenant:
        _lock(Tenant.objects.filter(pk=member.tenant_id))
    if of_member:
        _lock(Membership.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id))
    own, same_key = Q(user_id=member.user_id), Q(api_key_id=key_of_run(member) or 0)
    counts = active_runs(tenant_id=member.tenant_id).aggregate(
        of_tenant=Count("pk"), of_member=Count("pk", filter=own), of_key=Count("pk", filter=same_key)
    )
    return RunCounts(counts["of_tenant"], counts["of_member"], counts["of_key"])


def _lock(rows: QuerySet[Any]) -> None:
    """Lock a row until the transaction ends. Rows that refer to it can still be stored meanwhile."""
    if connection.vendor == "postgresql":  # SQLite has one writer at a time anyway
        rows.select_for_update(no_key=True).order_by().values_list("pk").first()


def start_first(*, tenant_id: int, owner: str, queued: Sequence[QueuedRun]) -> int | None:
    """Start the first of a tenant's queued runs of a process that its limits allow.

    Args:
        owner: the id of the process.
        queued: its queued runs of the tenant, in their order.

    Returns:
        The primary key of the run, now `running`; None if none can start.
    """
    with tenant_scope(tenant_id), transaction.atomic():
        return _start_first(tenant_id, owner, queued)


def _start_first(tenant_id: int, owner: str, queued: Sequence[QueuedRun]) -> int | None:
    lock_tenant(tenant_id)
    # Started before, by a transaction whose answer was lost.
    rows = active_runs(tenant_id=tenant_id).filter(status=Run.Status.RUNNING, lease_owner=owner)
    known = rows.filter(pk__in=[one.pk for one in queued]).values_list("pk", flat=True).first()
    if known is not None:
        return known
    for one in within_limits(tenant_id, queued):
        mine = Run.objects.filter(pk=one.pk, tenant_id=tenant_id, lease_owner=owner, status=Run.Status.QUEUED)
        if mine.filter(cancel_requested_at=None).update(status=Run.Status.RUNNING):
            return one.pk
    return None


def lock_tenant(tenant_id: int) -> None:
    """Lock a tenant's row until the transaction ends, so that its limits hold for runs that are started.

    A run that is opened meanwhile starts only if it and all queued ones are within the limits. A long hold of this
    tenant's lock, such as by a host's transaction, does not delay the queues of other tenants.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1s'")
    _lock(Tenant.objects.filter(pk=tenant_id))


def within_limits(tenant_id: int, queued: Sequence[QueuedRun]) -> Iterator[QueuedRun]:
    """Yield the queued runs of a tenant that its limits allow to start, each as if none before it was started."""
    tenant = Tenant.objects.filter(is_active=True).select_related("limits").filter(pk=tenant_id).first()
    if tenant is None:
        return
    rows = active_runs(tenant_id=tenant_id).filter(status=Run.Status.RUNNING)
    running = list(rows.values_list("user_id", "api_key_id"))
    of_member = Counter(user for user, _ in running)
    of_key: Counter[int | None] = Counter(key for _, key in running)
    for one in queued:
        limits = limits_of(quotas_of(tenant, is_end_user=one.is_end_user), one.key_limit)
        counts = RunCounts(len(running), of_member[one.user_id], of_key[one.key_id])
        if not counts.reaches(limits):
            yield one
