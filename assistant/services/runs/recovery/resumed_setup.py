"""Reads a dead run's rows again: whether it may go on, and what its plan is built from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from assistant.core.values.limits import Allowance
from assistant.models import Assistant, Message, Run
from assistant.services.assistants.configuration import settings_of
from assistant.services.assistants.fallback_choice import fallback_of
from assistant.services.assistants.soft_threshold import soft_model
from assistant.services.conversations.paths import shown_path
from assistant.services.conversations.stored_messages import recent_messages
from assistant.services.conversations.summaries import summary_of
from assistant.services.limits.quota_ledger import allowances_of_run
from assistant.services.limits.runs_at_once import queued_run
from assistant.services.run_key import RunKey
from assistant.services.runs.kept_requests import keeps_requests
from assistant.services.runs.leases import DeadRun
from assistant.services.runs.opening.client_input import stored_input
from assistant.services.runs.opening.configured_setup import chosen_provider, setup_of
from assistant.services.runs.opening.interrupted_calls import InterruptedCalls, interrupted_calls
from assistant.services.runs.opening.new_input import request_to_go_on
from assistant.services.runs.opening.opening_query import OpeningState, read_opening_state
from assistant.services.runs.opening.page import ignored_parts, with_page
from assistant.services.runs.opening.run_setup import OpenedRun, RunSetup
from assistant.services.runs.opening.sent_files import with_file_contents
from assistant.services.runs.opening.tested_prompt import choose_version
from assistant.services.tenancy.members import Member, active_keys, find_member
from assistant.services.tenancy.quotas import quotas_of
from assistant.services.toolpolicy.titles import tool_name_of

# Nobody waits any more for a run whose process died longer ago; it ends as interrupted.
MAX_AGE = timedelta(hours=1)
# How often a run may be handed over by processes that stop.
MAX_HAND_OVERS = 50


class NotResumable(Exception):
    """The run ends as interrupted; the text is the reason, for the log."""


@dataclass(frozen=True, slots=True)
class ResumedSetup:
    """What a run goes on with: its member, its setup, and when processes went on with it before."""

    member: Member
    setup: RunSetup
    resumes: tuple[dict[str, object], ...]


def resumed_setup(*, dead: DeadRun) -> ResumedSetup:
    """Return what a dead run goes on with, by today's configuration and permissions and the run's own prompt.

    Raises:
        NotResumable: it may not go on.
        Refused: what its setup was made from is not there any more.
    """
    found = _read(dead)
    opened = with_file_contents(OpenedRun(dead.key, found.setup))
    return found if opened.setup is None else replace(found, setup=opened.setup)


@transaction.atomic
def _read(dead: DeadRun) -> ResumedSetup:
    key = dead.key
    rows = Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id)
    run = rows.select_related("conversation", "assistant", "tenant").get()
    _check_may_resume(run, dead)
    member = _member_of(run)
    state = None if member is None else read_opening_state(member, run.assistant.slug, run.conversation_id)
    if member is None or state is None or state.conversation is None:
        raise NotResumable("its tenant, member, assistant or key has no access any more")
    choose_version(state=state, version_id=run.prompt_version_id)
    return ResumedSetup(member, _setup(key, run, member, state), tuple(run.resumes))


def _check_may_resume(run: Run, dead: DeadRun) -> None:
    deaths = sum(not one["handedOver"] for one in run.resumes) + (not dead.was_handed_over)
    if not settings.RUN_RESUMES:
        raise NotResumable("RUN_RESUMES is 0")
    if run.cancel_requested_at is not None:
        raise NotResumable("it was to be cancelled")
    if run.conversation.is_stateless or run.conversation.test_tools or run.is_test:
        raise NotResumable("its caller has gone with the process")
    if deaths > settings.RUN_RESUMES or len(run.resumes) >= MAX_HAND_OVERS:
        raise NotResumable(f"it was resumed {len(run.resumes)} times already")
    if dead.lease_until is not None and timezone.now() - dead.lease_until > MAX_AGE:
        raise NotResumable("its process died too long ago")


def _member_of(run: Run) -> Member | None:
    member = find_member(user_id=run.user_id, tenant_slug=run.tenant.slug, with_end_users=True)
    if member is None or run.api_key_id is None:
        return member
    is_valid = active_keys().filter(pk=run.api_key_id, tenant_id=run.tenant_id).exists()
    return replace(member, key_id=run.api_key_id) if is_valid else None


def _setup(key: RunKey, run: Run, member: Member, state: OpeningState) -> RunSetup:
    """Return the setup, as `begin_run` made the first; nothing is reserved or counted again."""
    assistant, conversation = state.assistant, run.conversation
    given, decisions = stored_input(run)
    quotas = quotas_of(assistant.tenant, is_end_user=member.is_end_user)
    own = choice = chosen_provider(assistant, run.model if run.model in assistant.other_models else "")
    setup = setup_of(member=member, state=state, choice=choice, quotas=quotas, allowed_tools=given.allowed_tools)
    soft = soft_model(assistant=assistant, quotas=quotas, reserved=run.reserved_cost) if quotas.counted else None
    if soft is not None and run.replaced_model:
        choice = soft.instead_of(choice, assistant)
        setup = replace(setup, provider=choice, settings=settings_of(assistant, choice))
    if given.output_schema:
        setup = replace(setup, settings=replace(setup.settings, answer_schema=given.output_schema))
    path = shown_path(conversation, is_active=True)
    history = recent_messages(conversation=conversation, path=path)
    own_rows = Message.objects.filter(conversation=conversation, conversation__tenant_id=key.tenant_id, run_id=key.pk)
    own_count = own_rows.count()
    history = [*history, *(() if own_count else request_to_go_on(history))]
    summary, summary_sources = summary_of(conversation, path)
    is_queued = run.status == Run.Status.QUEUED
    return replace(
        setup,
        history=with_page(history, given, assistant),
        client_tools=given.client_tools,
        decisions=decisions,
        state=given.state,
        ignored=ignored_parts(given, assistant),
        soft=soft,
        replaced_model=run.replaced_model,
        fallback=fallback_of(assistant=assistant, choice=choice, own=own),
        keeps_requests=keeps_requests(assistant.tenant),
        summary=summary,
        summary_sources=summary_sources,
        position=conversation.message_count + own_count,
        allowances=_allowances(key, setup),
        queued=queued_run(member, run.pk, state.key_runs) if is_queued else None,
        interrupted=_interrupted(key, setup),
    )


def _allowances(key: RunKey, setup: RunSetup) -> tuple[Allowance, ...]:
    if not setup.quotas.counted:
        return ()
    return allowances_of_run(tenant_id=key.tenant_id, user_id=key.user_id, quotas=setup.quotas, reserved=key.reserved)


def _interrupted(key: RunKey, setup: RunSetup) -> InterruptedCalls:
    tools = {entry.tool.name: entry.tool for entry in setup.tools}
    slugs = Assistant.objects.filter(tenant_id=key.tenant_id).values_list("slug", flat=True)
    delegates = {tool_name_of(slug) for slug in slugs} - tools.keys()
    return interrupted_calls(key=key, tools=tools, delegates=delegates)
