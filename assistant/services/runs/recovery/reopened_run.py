"""Prepares a run in another process than the one that opened it, from its rows.

Messages, files and configuration are read again; what else the run was opened with is in its row (`client_input`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.db import transaction

from assistant.core.values.limits import Allowance
from assistant.models import Message, Run
from assistant.services.assistants.soft_threshold import soft_model
from assistant.services.conversations.paths import shown_path
from assistant.services.conversations.stored_messages import recent_messages
from assistant.services.conversations.summaries import summary_message, summary_of
from assistant.services.errors import Refused
from assistant.services.limits.quota_ledger import allowances_of_run
from assistant.services.limits.runs_at_once import queued_run
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs.extensions.interrupted_calls import InterruptedCalls, interrupted_calls
from assistant.services.runs.extensions.page import with_page
from assistant.services.runs.opening.client_input import language_of, stored_input, trace_of
from assistant.services.runs.opening.new_input import request_to_go_on
from assistant.services.runs.opening.open_run import instructions_of, with_input
from assistant.services.runs.opening.opening_query import OpeningState, choose_version, read_opening_state
from assistant.services.runs.opening.run_setup import RunSetup, answered_by, answering, chosen_provider, setup_of
from assistant.services.runs.opening.sent_files import with_contents
from assistant.services.tenancy.members import Member, active_keys, find_member
from assistant.services.tenancy.quotas import quotas_of
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.services.toolpolicy.tools_of_runs import titles_of_added


class CannotReopen(Refused):
    """The run cannot go on: its member, its assistant or its provider is not available any more."""

    def __init__(self) -> None:
        super().__init__("thread_not_found", "Its tenant, member, assistant or key has no access any more.")


@dataclass(frozen=True, slots=True)
class ReopenedRun:
    """A run that another process opened.

    Attributes:
        last_seq: the number of its last stored event.
        language: of the sentences that its client reads.
        trace: the headers that name the span that it belongs to.
    """

    key: RunKey
    setup: RunSetup
    member: Member
    last_seq: int
    language: str
    trace: Mapping[str, str]


def reopen_run(*, pk: int, tenant_id: int, owner: str) -> ReopenedRun:
    """Return what a run of the shared queue is prepared from, for the process `owner`, which holds it.

    Raises:
        Refused: what it is prepared from is not there any more, as `CannotReopen` for its member's access.
    """
    with tenant_scope(tenant_id):
        run = Run.objects.select_related("conversation", "assistant", "tenant").get(pk=pk, tenant_id=tenant_id)
        reopened = read_rows(run=run, key=key_of(run, owner))
        provider = reopened.setup.provider
        answering = {"provider_name": provider.name, "model": provider.model}
        if answering != {"provider_name": run.provider_name, "model": run.model}:
            Run.objects.filter(pk=pk, tenant_id=tenant_id, lease_owner=owner).update(**answering)
        return with_files(reopened)


def with_files(run: ReopenedRun) -> ReopenedRun:
    """Return a run with the contents of its attached files, which are not read in a transaction."""
    return replace(run, setup=with_contents(run.key, run.setup))


@transaction.atomic
def read_rows(*, run: Run, key: RunKey) -> ReopenedRun:
    """Return what a run goes on with, by today's configuration and permissions and its own prompt, without files.

    Raises:
        CannotReopen: its member, tenant, assistant or key has no access any more.
        Refused: what its setup was made from is not there any more.
    """
    member = _member_of(run)
    state = None if member is None else read_opening_state(member, run.assistant.slug, run.conversation_id)
    if member is None or state is None or state.conversation is None:
        raise CannotReopen
    choose_version(state=state, version_id=run.prompt_version_id)
    return ReopenedRun(
        key, _setup(key, run, member, state), member, run.checkpoint_seq, language_of(run), trace_of(run)
    )


def _member_of(run: Run) -> Member | None:
    member = find_member(user_id=run.user_id, tenant_slug=run.tenant.slug, with_end_users=True)
    if member is None or run.api_key_id is None:
        return member
    is_valid = active_keys().filter(pk=run.api_key_id, tenant_id=run.tenant_id).exists()
    # With its key the same client can follow it.
    return replace(member, key_id=run.api_key_id) if is_valid else None


def _setup(key: RunKey, run: Run, member: Member, state: OpeningState) -> RunSetup:
    """Return the setup, as `begin_run` made the first; nothing is reserved or counted again."""
    assistant, conversation = state.assistant, run.conversation
    given, decisions = stored_input(run)
    quotas = quotas_of(assistant.tenant, is_end_user=member.is_end_user)
    choice = chosen_provider(assistant, run.model if run.model in assistant.other_models else "")
    setup = setup_of(
        member=member, state=state, choice=choice, quotas=quotas, allowed_tools=given.options.allowed_tools
    )
    soft = soft_model(assistant=assistant, quotas=quotas, reserved=run.reserved_cost) if quotas.counted else None
    found = answering(choice, assistant=assistant, soft=soft, is_replaced=bool(run.replaced_model))
    setup = answered_by(setup, found, assistant=assistant)
    setup = with_input(setup, given, decisions, key=key, assistant=assistant, tools_off=conversation.tools_off)
    path = shown_path(conversation, is_active=True)
    history = recent_messages(conversation=conversation, path=path)
    own_rows = Message.objects.filter(conversation=conversation, conversation__tenant_id=key.tenant_id, run_id=key.pk)
    own_count = own_rows.count()
    before = len(history) - own_count
    history = [
        *history[:before],
        *(() if given.asked is None else instructions_of(given.asked)),
        *history[before:],
        *(() if own_count else request_to_go_on(history)),
    ]
    is_queued = run.status == Run.Status.QUEUED
    return replace(
        setup,
        history=with_page(history, given.page) if assistant.takes_context and given.page else tuple(history),
        summary=summary_message(*summary_of(conversation, path)),
        position=conversation.message_count + own_count,
        allowances=_allowances(key, setup),
        queued=queued_run(member, run.pk, state.key_runs) if is_queued else None,
        extensions=(*setup.extensions, *_interrupted(key, setup)),
    )


def _allowances(key: RunKey, setup: RunSetup) -> tuple[Allowance, ...]:
    if not setup.quotas.counted:
        return ()
    return allowances_of_run(tenant_id=key.tenant_id, user_id=key.user_id, quotas=setup.quotas, reserved=key.reserved)


def _interrupted(key: RunKey, setup: RunSetup) -> tuple[InterruptedCalls, ...]:
    tools = {entry.tool.name: entry.tool for entry in setup.tools}
    delegates = titles_of_added(tenant_id=key.tenant_id).keys() - tools.keys()
    found = interrupted_calls(key=key, quotas=setup.quotas, tools=tools, delegates=delegates)
    return (found,) if found.repeatable or found.doubtful else ()
