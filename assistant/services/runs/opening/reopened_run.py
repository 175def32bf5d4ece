"""Prepares a run in another process than the one that opened it, from its rows.

Messages, files and configuration are read again. What else the run was opened with is kept in its row, as JSON, while
it has not ended (`store_request`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.conf import settings
from django.utils.translation import get_language

from assistant.core.toolcalls.protocols import Decision
from assistant.core.values.limits import Allowance
from assistant.models import Message as MessageRow
from assistant.models import Run
from assistant.services.assistants.configuration import settings_of
from assistant.services.assistants.fallback_choice import fallback_of
from assistant.services.assistants.soft_threshold import soft_model
from assistant.services.conversations.paths import shown_path
from assistant.services.conversations.stored_messages import recent_messages
from assistant.services.conversations.summaries import summary_of
from assistant.services.errors import Refused
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs.kept_requests import keeps_requests
from assistant.services.runs.opening.configured_setup import chosen_provider, setup_of
from assistant.services.runs.opening.new_input import request_to_go_on
from assistant.services.runs.opening.opening_query import OpeningState, read_opening_state
from assistant.services.runs.opening.page import with_page
from assistant.services.runs.opening.run_setup import OpenedRun, RunSetup
from assistant.services.runs.opening.sent_files import with_file_contents
from assistant.services.runs.opening.tested_prompt import choose_version
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member, find_member
from assistant.services.tenancy.quotas import quotas_of
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.toolkit import Tool


class CannotReopen(Refused):
    """The run cannot go on: its member, its assistant or its provider is not available any more."""


@dataclass(frozen=True, slots=True)
class ReopenedRun:
    """A run that this process works on from now on.

    Attributes:
        last_seq: the number of its last stored event.
        language: of the sentences that its client reads.
    """

    key: RunKey
    setup: RunSetup
    member: Member
    last_seq: int
    language: str


def store_request(*, run: Run, setup: RunSetup, given: RunInput, model: str) -> None:
    """Keep in a run's row what another process needs to prepare it. Call it in the transaction that stores the run.

    Args:
        model: which of the assistant's other models was chosen; "" for its own.
    """
    run.request = json.dumps(
        {
            "model": model,
            "language": get_language() or settings.LANGUAGE_CODE,
            "context": given.context,
            "state": given.state,
            "ignored": setup.ignored,
            "output_schema": given.output_schema,
            "allowed_tools": None if given.allowed_tools is None else sorted(given.allowed_tools),
            "client_tools": [
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
                for tool in given.client_tools
            ],
            "decisions": {call_id: asdict(decision) for call_id, decision in setup.decisions.items()},
            "allowances": [asdict(allowance) for allowance in setup.allowances],
        }
    )
    Run.objects.filter(pk=run.pk, tenant_id=run.tenant_id).update(request=run.request)


def reopen_run(*, pk: int, tenant_id: int, owner: str) -> ReopenedRun:
    """Return what a run with a stored request is prepared from, for the process `owner`, which holds it.

    Raises:
        CannotReopen: member, assistant or provider are not available any more.
    """
    with tenant_scope(tenant_id):
        run = Run.objects.select_related("conversation", "assistant", "tenant").get(pk=pk, tenant_id=tenant_id)
        member = find_member(user_id=run.user_id, tenant_slug=run.tenant.slug, with_end_users=True)
        if member is None:
            raise CannotReopen("thread_not_found", "The member has left the tenant.")
        # The same client can then follow it, by its key.
        member = replace(member, key_id=run.api_key_id)
        state = read_opening_state(member, run.assistant.slug, run.conversation_id)
        if state is None or state.conversation is None:
            raise CannotReopen("thread_not_found", "This assistant is not available.")
        if run.prompt_version_id not in (None, state.assistant.published_id):  # type: ignore[attr-defined]  # annotated
            choose_version(state=state, version_id=run.prompt_version_id)
        key = key_of(run, owner)
        request = json.loads(run.request)
        setup = _setup(run, member, state, request)
        answering = {"provider_name": setup.provider.name, "model": setup.provider.model}
        if answering != {"provider_name": run.provider_name, "model": run.model}:
            answering["replaced_model"] = setup.replaced_model
            Run.objects.filter(pk=pk, tenant_id=tenant_id, lease_owner=owner).update(**answering)
        opened = with_file_contents(OpenedRun(key, setup))
        assert opened.setup is not None  # noqa: S101 - as it was given  # nosec B101
        return ReopenedRun(key, opened.setup, member, run.checkpoint_seq, request["language"])


def _setup(run: Run, member: Member, state: OpeningState, request: Mapping[str, Any]) -> RunSetup:
    assistant, conversation = state.assistant, state.conversation
    assert conversation is not None  # noqa: S101 - checked by the caller  # nosec B101
    quotas = quotas_of(assistant.tenant, is_end_user=member.is_end_user)
    own = choice = chosen_provider(assistant, request["model"])
    soft = soft_model(assistant=assistant, quotas=quotas, reserved=run.reserved_cost) if quotas.counted else None
    if soft is not None:
        choice = soft.instead_of(choice, assistant)
    allowed = request["allowed_tools"]
    setup = setup_of(
        member=member,
        state=state,
        choice=choice,
        quotas=quotas,
        allowed_tools=None if allowed is None else frozenset(allowed),
    )
    path = shown_path(conversation, is_active=True)
    history = recent_messages(conversation=conversation, path=path)
    page = RunInput(conversation.pk, run.run_id, context=request["context"], state=request["state"])
    own_settings = settings_of(assistant, choice)
    if request["output_schema"]:
        own_settings = replace(own_settings, answer_schema=request["output_schema"])
    summary, summary_sources = summary_of(conversation, path)
    return replace(
        setup,
        settings=own_settings,
        soft=soft,
        replaced_model="" if choice is own or choice.label == own.label else own.label,
        fallback=fallback_of(assistant=assistant, choice=choice, own=own),
        keeps_requests=keeps_requests(assistant.tenant),
        history=with_page((*history, *request_to_go_on(history)), page, assistant),
        summary=summary,
        summary_sources=summary_sources,
        position=conversation.message_count + _count_own_messages(run),
        allowances=tuple(Allowance(**allowance) for allowance in request["allowances"]),
        client_tools=tuple(Tool.client_side(**tool) for tool in request["client_tools"]),
        decisions={call_id: Decision(**decision) for call_id, decision in request["decisions"].items()},
        state=request["state"],
        ignored=tuple(request["ignored"]),
    )


def _count_own_messages(run: Run) -> int:
    """Count the messages that a run was opened with, which are not in the conversation's count while it is active."""
    rows = MessageRow.objects.filter(conversation=run.conversation_id, conversation__tenant_id=run.tenant_id, run=run)
    return rows.count()
