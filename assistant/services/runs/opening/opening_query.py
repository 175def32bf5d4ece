"""The query that opening a run starts with: assistant, conversation, membership, tool switches and limits in one."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, F, FilteredRelation, Func, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _

from assistant.models import ApiKey, Assistant, Conversation, Message, PromptVersion, Run
from assistant.models.runs import IS_ACTIVE
from assistant.services.assistants.configuration import use_version, with_prompt
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery, UserKey
from assistant.services.errors import Refused
from assistant.services.limits.runs_at_once import RunCounts, active_runs, key_of_run
from assistant.services.tenancy.members import KeyLimits, Member, superuser_subquery
from assistant.services.tenant_events import is_heard
from assistant.services.toolpolicy.policy import MemberSwitches
from assistant.services.toolpolicy.switch_query import COLUMNS, read_switches, switch_columns
from assistant.toolkit.context import UserId

NO_LIMITS = KeyLimits(None, None)


@dataclass(frozen=True, slots=True)
class OpeningState:
    """An active assistant, and what a new run needs to know of its member and conversation.

    Attributes:
        switches: the member's rights and the switches of tools.
        is_heard: whether somebody wants the tenant's events.
        active: how many runs are running or queued; nothing prevents others from being opened meanwhile.
        key_runs: how many runs the member's API key may have at once; None without a limit.
        key_limits: the current limits of the member's API key; None without limits.
        conversation: None if the member has no such conversation with this assistant.
        same_run: the primary key of the conversation's run with the new run's id.
        is_busy: whether a run of the conversation is running or queued.
        has_message: whether the new message is stored already.
    """

    assistant: Assistant
    switches: MemberSwitches
    is_heard: bool
    active: RunCounts
    key_runs: int | None = None
    key_limits: KeyLimits | None = None
    conversation: Conversation | None = None
    same_run: int | None = None
    is_busy: bool = False
    has_message: bool = False


def read_opening_state(
    member: Member, assistant_slug: str, thread_id: uuid.UUID, *, run_id: str = "", message_id: str = ""
) -> OpeningState | None:
    """Return the state for a new run; None if there is no such active assistant, or the membership has ended.

    Nothing is locked. A run that is opened on an outdated state violates a constraint of `Run`, `Message` or
    `Conversation`, and the caller has to read the state again.
    """
    row: Any = _OPENING_STATE.first(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        slug=assistant_slug,
        thread_id=thread_id,
        run_id=run_id,
        message_id=message_id,
        key_id=key_of_run(member) or 0,
    )
    if row is None or row.is_superuser is None:
        return None
    stored = read_switches(*(getattr(row, name) for name in COLUMNS))
    switches = MemberSwitches(row.is_superuser, stored, row.tenant.after_untrusted)
    limits = KeyLimits(row.key_per_minute, row.key_per_day)
    state = OpeningState(
        row,
        switches,
        row.is_heard,
        RunCounts(row.active_of_tenant, row.active_of_member, row.active_of_key),
        row.key_runs,
        None if limits == NO_LIMITS else limits,
    )
    conversation = getattr(row, "thread", None)  # not set if there is none
    if conversation is None:
        return state
    return replace(
        state,
        conversation=conversation,
        same_run=row.same_run,
        is_busy=row.is_busy,
        has_message=row.has_message,
    )


def choose_version(*, state: OpeningState, version_id: int | None) -> None:
    """Let a run use a version of its assistant's prompt; None leaves the published one.

    Raises:
        Refused: `invalid_input` if the assistant has no such version.
    """
    if version_id is None:
        return
    own = PromptVersion.objects.filter(assistant=state.assistant, assistant__tenant_id=state.assistant.tenant_id)
    version = own.filter(pk=version_id).first()
    if version is None:
        raise Refused("invalid_input", _("This assistant has no such version of its prompt."))
    use_version(state.assistant, version)


def _state_query(
    *, tenant_id: int, user_id: UserId, slug: str, thread_id: uuid.UUID, run_id: str, message_id: str, key_id: int
) -> QuerySet[Assistant]:
    own = Q(
        conversations__pk=thread_id,
        conversations__tenant_id=tenant_id,
        conversations__user_id=user_id,
        conversations__is_stateless=False,
    )
    runs = Run.objects.filter(tenant_id=tenant_id, conversation=thread_id)
    active = active_runs(tenant_id=tenant_id)
    key = ApiKey.objects.filter(pk=key_id, tenant_id=tenant_id)
    messages = Message.objects.filter(conversation=thread_id, conversation__tenant_id=tenant_id)
    assistants = Assistant.objects.filter(tenant_id=tenant_id, slug=slug, is_active=True, tenant__is_active=True)
    return (
        with_prompt(assistants)
        .annotate(
            thread=FilteredRelation("conversations", condition=own),
            is_superuser=superuser_subquery(tenant_id=tenant_id, user_id=user_id),
            same_run=Subquery(runs.filter(run_id=run_id).values("pk")[:1]),
            is_busy=Exists(runs.filter(IS_ACTIVE)),
            has_message=Exists(messages.filter(message_id=message_id)),
            is_heard=is_heard(tenant_id),
            key_per_minute=Subquery(key.values("requests_per_minute")),
            key_per_day=Subquery(key.values("requests_per_day")),
            key_runs=Subquery(key.values("runs_at_once")),
            active_of_tenant=_count(active),
            active_of_member=_count(active.filter(user_id=user_id)),
            active_of_key=_count(active.filter(api_key_id=key_id)),
            **switch_columns(tenant_id=tenant_id, assistant=OuterRef("pk")),
        )
        # mypy: "thread" is an annotation, not a field of the model.
        .select_related("provider", "tenant", "tenant__limits", "tenant__default_provider", "thread")  # type: ignore[misc]
        .order_by()
    )


def _count(runs: QuerySet[Run]) -> Subquery:
    # Not Django's `Count`, which groups the rows, and returns no row where there are none.
    counted = runs.order_by().annotate(count=Func(F("pk"), function="COUNT", output_field=IntegerField()))
    return Subquery(counted.values("count"))


_OPENING_STATE = PreparedQuery(
    _state_query,
    tenant_id=int,
    user_id=UserKey,
    slug=str,
    thread_id=uuid.UUID,
    run_id=str,
    message_id=str,
    key_id=int,
)
