"""Opens a run whose caller keeps the history: with the same prompt, tools, limits and audit as any other."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction
from django.utils import timezone

from assistant.models import Conversation, Run
from assistant.services.assistants import find_assistant, limits_of, options_of, prompt_of
from assistant.services.completions import StatelessInput
from assistant.services.history import store_messages
from assistant.services.inputs import Refused
from assistant.services.leases import LEASE, key_of
from assistant.services.members import Member
from assistant.services.opening import TITLE_LENGTH, OpenedRun, RunSetup
from assistant.services.providers import choose_provider
from assistant.services.toolsets import effective_tools


@transaction.atomic
def open_stateless_run(*, member: Member, assistant_slug: str, given: StatelessInput, owner: str) -> OpenedRun:
    """Open a run in a conversation of its own, which nobody can go on with and which is in no list.

    Raises:
        Refused: `thread_not_found` if the tenant has no such assistant.
    """
    assistant = find_assistant(tenant_id=member.tenant_id, slug=assistant_slug)
    if assistant is None:
        raise Refused("thread_not_found", "This assistant is not available.")
    new = given.messages[-given.new :]
    conversation = Conversation.objects.create(
        pk=uuid.uuid4(),
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        assistant=assistant,
        title=" ".join(new[-1].content.split())[:TITLE_LENGTH],
        is_stateless=True,
    )
    published: Any = getattr(assistant, "published_id")  # noqa: B009 - an annotation the type does not know
    choice = choose_provider(assistant)
    run = Run.objects.create(
        tenant_id=member.tenant_id,
        conversation=conversation,
        user_id=member.user_id,
        assistant=assistant,
        run_id=given.run_id,
        number=1,
        prompt_version_id=published,
        provider_name=choice.name,
        model=choice.model,
        lease_owner=owner,
        lease_until=timezone.now() + LEASE,
    )
    store_messages(conversation_id=conversation.pk, run_id=run.pk, messages=new, first_position=0)
    tools = effective_tools(tenant_id=member.tenant_id, user_id=member.user_id, assistant_id=assistant.pk)
    setup = RunSetup(
        assistant_slug=assistant.slug,
        system_prompt=prompt_of(assistant),
        history=given.messages,
        history_tokens=assistant.history_tokens,
        provider=choice,
        tools=tuple(tools),
        client_tools=given.client_tools,
        decisions={},
        limits=limits_of(assistant),
        options={**options_of(assistant), **given.options},
        has_delegates=getattr(assistant, "has_delegates"),  # noqa: B009 - an annotation, as above
        summary="",
        answer_schema=assistant.answer_schema,
        ends_on_tool_failure=assistant.tenant.ends_runs_on_tool_failure,
        position=len(new),
        is_stateless=True,
        tool_choice=given.tool_choice,
        response_format=None if assistant.answer_schema else given.response_format,
    )
    return OpenedRun(key_of(run, owner), setup)
