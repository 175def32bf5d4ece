"""The setup of a run by configuration alone, without a conversation; simulations use it too."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from assistant.models import Assistant
from assistant.services.assistants.configuration import prompt_of, settings_of
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.assistants.provider_choice import ProviderChoice, choose_other_model, choose_provider
from assistant.services.errors import Refused
from assistant.services.runs.opening.answering import Answering
from assistant.services.runs.opening.opening_query import OpeningState
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import Quotas
from assistant.services.toolpolicy.policy import effective_tools


def setup_of(
    *,
    member: Member,
    state: OpeningState,
    choice: ProviderChoice,
    quotas: Quotas,
    allowed_tools: frozenset[str] | None = None,
) -> RunSetup:
    """Return the setup of a member's run with an assistant, without a conversation.

    Args:
        state: from `read_opening_state`.
        allowed_tools: the names of the only tools to offer; None for all.
    """
    assistant = state.assistant
    tools = effective_tools(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        assistant_id=assistant.pk,
        narrowing=allowed_tools,
        switches=state.switches,
    )
    return RunSetup(
        assistant_slug=assistant.slug,
        system_prompt=prompt_of(assistant, partial(PromptValues, tenant=assistant.tenant, user_id=member.user_id)),
        history=(),
        answering=Answering(choice),
        settings=settings_of(assistant, choice),
        tools=tuple(tools),
        client_tools=(),
        decisions={},
        has_delegates=getattr(assistant, "has_delegates"),  # noqa: B009 - an annotation the type does not know
        summary=(),
        position=0,
        is_heard=state.is_heard,
        quotas=quotas,
        allowed_tools=allowed_tools,
    )


def answered_by(setup: RunSetup, found: Answering, *, assistant: Assistant) -> RunSetup:
    """Return a setup with what answers, and with the assistant's settings for that."""
    is_same = found.provider is setup.provider
    return replace(
        setup, answering=found, settings=setup.settings if is_same else settings_of(assistant, found.provider)
    )


def chosen_provider(assistant: Assistant, model: str) -> ProviderChoice:
    """Return what answers for an assistant: its own model, or `model`, one of its others.

    Raises:
        Refused: `invalid_input`, if the assistant does not list the model.
    """
    choice = choose_provider(assistant)
    try:
        return choose_other_model(choice, assistant, model) if model else choice
    except ValueError as exc:
        raise Refused("invalid_input", str(exc)) from exc
