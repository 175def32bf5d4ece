"""Stores the row and the first messages of a run, and returns its setup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.core.conversation.paths import WHOLE, Path
from assistant.core.values.history_window import estimate, estimate_tokens
from assistant.core.values.limits import Allowance
from assistant.core.values.messages import Message, Usage
from assistant.models import Assistant, Conversation, Run
from assistant.services.assistants.configuration import may_fall_back, settings_of
from assistant.services.assistants.provider_choice import choose_provider
from assistant.services.assistants.soft_threshold import soft_model
from assistant.services.conversations.stored_messages import store_messages
from assistant.services.conversations.summaries import summary_message, summary_of
from assistant.services.limits.quota_ledger import EXPECTED_OUTPUT_TOKENS, Estimate, reserve_run
from assistant.services.limits.runs_at_once import exceeds_limits, key_of_run, limits_of, queued_run
from assistant.services.runs.leases import LEASE_END
from assistant.services.runs.opening.opening_query import OpeningState
from assistant.services.runs.opening.run_setup import Answering, RunName, RunSetup, answering, chosen_provider, setup_of
from assistant.services.runs.opening.sent_files import estimate_files
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import quotas_of


def begin_run(
    *,
    member: Member,
    state: OpeningState,
    conversation: Conversation,
    name: RunName,
    owner: str,
    must_wait: bool,
    history: tuple[Message, ...],
    new: Sequence[Message],
    messages: int,
    allowed_tools: frozenset[str] | None = None,
    follows: str = "",
    path: Path = WHOLE,
    is_test: bool = False,
    model: str = "",
    client_input: Mapping[str, Any] | None = None,
) -> tuple[Run, RunSetup]:
    """Store a run and its new messages, and return its setup by the assistant's configuration.

    Args:
        state: from `read_opening_state`.
        name: under which the run and its client know each other.
        must_wait: as for `open_run`.
        history: the messages of the conversation, the `new` ones last.
        messages: what the run counts towards quotas of messages, 1 or 0.
        allowed_tools: the names of the only tools to offer; None for all.
        follows: the id of the run that the client says it follows; it is kept for the record.
        path: the path of the conversation that `history` is the end of.
        is_test: whether it is a test, of which nobody is told.
        model: one of the assistant's other models; "" for its own.
        client_input: what a process that goes on with the run needs besides the rows, from `client_input.to_store`.

    Raises:
        Refused: `invalid_input`, if the assistant does not list the model.
        QuotaReached: the tenant or the member has used up a quota.
        TooManyRuns: a limit of runs at once is reached, and the queue is full.
    """
    assistant = state.assistant
    choice = chosen_provider(assistant, model) if model else choose_provider(assistant)
    quotas = quotas_of(assistant.tenant, is_end_user=member.is_end_user)
    limits = limits_of(quotas, state.key_runs)
    is_queued = (any(limits) and exceeds_limits(member=member, limits=limits, active=state.active)) or must_wait
    setup = setup_of(member=member, state=state, choice=choice, quotas=quotas, allowed_tools=allowed_tools)
    expected = UNCOUNTED
    allowances: tuple[Allowance, ...] = ()
    if quotas.counted:
        expected = estimate_of_run(assistant, setup, history, messages)
        allowances = reserve_run(tenant_id=member.tenant_id, user_id=member.user_id, quotas=quotas, expected=expected)
    soft = soft_model(assistant=assistant, quotas=quotas, reserved=expected.cost) if quotas.counted else None
    found = Answering(choice)
    if soft is not None or may_fall_back(assistant):
        found = answering(choice, assistant=assistant, soft=soft)
    provider = found.provider
    replaced = found.replaced
    if provider is not choice:
        setup = replace(setup, settings=settings_of(assistant, provider))
    run = Run.objects.create(
        tenant_id=member.tenant_id,
        conversation=conversation,
        user_id=member.user_id,
        assistant=assistant,
        api_key_id=key_of_run(member),
        run_id=name.run_id,
        continues=name.continues,
        answers=name.answers,
        follows=follows,
        number=conversation.run_count + 1,
        status=Run.Status.QUEUED if is_queued else Run.Status.RUNNING,
        prompt_version_id=getattr(assistant, "published_id"),  # noqa: B009 - an annotation the type does not know
        provider_name=provider.name,
        model=provider.model,
        replaced_model=replaced,
        reserved_tokens=expected.tokens,
        reserved_cost=expected.cost,
        lease_owner=owner,
        lease_until=LEASE_END,
        is_test=is_test,
        client_input=client_input or None,
    )
    store_messages(
        tenant_id=member.tenant_id,
        conversation_id=conversation.pk,
        run_id=run.pk,
        messages=new,
        first_position=conversation.message_count,
    )
    return run, replace(
        setup,
        answering=found,
        history=history,
        summary=summary_message(*summary_of(conversation, path)) if conversation.summary else (),
        position=conversation.message_count + len(new),
        allowances=allowances,
        queued=queued_run(member, run.pk, state.key_runs) if is_queued else None,
        is_heard=setup.is_heard and not is_test,
    )


UNCOUNTED = Estimate(0, 0, 0)


def estimate_of_run(assistant: Assistant, setup: RunSetup, history: Sequence[Message], messages: int) -> Estimate:
    """Return what a run will use: the conversation that the model is sent, one answer, and `messages`."""
    input_tokens = sum(map(estimate, history)) + estimate_files(setup, history)
    if assistant.history_tokens:
        input_tokens = min(input_tokens, assistant.history_tokens)
    usage = Usage(input_tokens + estimate_tokens(setup.system_prompt), EXPECTED_OUTPUT_TOKENS)
    choice = setup.provider
    return Estimate(messages, usage.total_tokens, choice.prices.priced(usage, choice.model).cost)
