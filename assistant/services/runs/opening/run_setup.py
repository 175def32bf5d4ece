"""What opening a run returns: its key, and all that its plan is built from, by configuration alone at first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from assistant.core.toolcalls.protocols import Decision
from assistant.core.values.limits import Allowance
from assistant.core.values.messages import Message
from assistant.core.values.settings import AssistantSettings
from assistant.models import Assistant
from assistant.models.fields import OnDisconnect
from assistant.services.assistants.configuration import may_fall_back, prompt_of, settings_of
from assistant.services.assistants.fallback_choice import fallback_of
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.assistants.provider_choice import ProviderChoice, choose_other_model, choose_provider
from assistant.services.assistants.soft_threshold import SoftModel
from assistant.services.errors import Refused
from assistant.services.limits.runs_at_once import QueuedRun
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.opening.opening_query import OpeningState
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import Quotas
from assistant.services.toolpolicy.policy import EffectiveTool, effective_tools


@dataclass(frozen=True, slots=True)
class Answering:
    """What answers in a run.

    Attributes:
        provider: the provider and its model.
        soft: what answers in place of what an assistant would choose; None below the tenant's soft threshold of cost.
        fallback: what takes over when `provider` cannot answer; None if nothing does.
        replaced: the provider and model in whose place `provider` answers; "" if it is the assistant's choice.
    """

    provider: ProviderChoice
    soft: SoftModel | None = None
    fallback: ProviderChoice | None = None
    replaced: str = ""


def answering(
    own: ProviderChoice, *, assistant: Assistant, soft: SoftModel | None, is_replaced: bool = True
) -> Answering:
    """Return what answers in a run of an assistant.

    Args:
        own: the assistant's choice.
        soft: what answers in place of what an assistant would choose; None below the soft threshold.
        is_replaced: whether that holds for this run, and not only for the assistants that it asks.
    """
    choice = soft.instead_of(own, assistant) if soft is not None and is_replaced else own
    return Answering(
        choice,
        soft,
        fallback=fallback_of(assistant=assistant, choice=choice, own=own) if may_fall_back(assistant) else None,
        replaced="" if choice is own or choice.label == own.label else own.label,
    )


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What a new run's plan is built from.

    Attributes:
        answering: which provider and model answer, and in whose place.
        settings: the assistant's, as changed by the request.
        decisions: by call id, on the calls that wait for approval.
        queued: the run's row in the queue; None if it runs at once.
        summary: of the older part of the conversation, as a message; none if there is none.
        position: the position in the conversation of the first message that the run adds.
        is_heard: whether somebody wants the tenant's events.
        quotas: of the tenant and the member.
        allowances: what the quotas leave to this run.
        allowed_tools: the names of the only tools that the caller wants used; None for all.
        extensions: those that act in the run, in their order.
        language: of the sentences that are made in the run; "" for the active one.
    """

    assistant_slug: str
    system_prompt: str
    history: tuple[Message, ...]
    answering: Answering
    settings: AssistantSettings
    tools: tuple[EffectiveTool, ...]
    decisions: Mapping[str, Decision]
    summary: tuple[Message, ...]
    position: int
    is_heard: bool
    quotas: Quotas
    allowances: tuple[Allowance, ...] = ()
    queued: QueuedRun | None = None
    allowed_tools: frozenset[str] | None = None
    extensions: tuple[RunExtension[Any], ...] = ()
    language: str = ""

    @property
    def provider(self) -> ProviderChoice:
        """The provider and the model that answer."""
        return self.answering.provider


@dataclass(frozen=True, slots=True)
class RunName:
    """The columns of `Run` under which a run and its client know each other."""

    run_id: str
    continues: str = ""
    answers: str = ""


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """The result of opening a run. `setup` is None for an existing run that the caller joins.

    Attributes:
        is_fresh: whether the existing run has no event yet, as far as the database knows.
        on_disconnect: what happens to a new run when its client disconnects.
    """

    key: RunKey
    setup: RunSetup | None = None
    is_fresh: bool = False
    on_disconnect: OnDisconnect = OnDisconnect.CONTINUE


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
        decisions={},
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
