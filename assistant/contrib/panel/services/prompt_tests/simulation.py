"""What a run would be given now: the code path of a run, up to the first request to the model, which is not sent."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.utils import timezone

from assistant.core.llm.protocol import schema_tokens
from assistant.core.turn.model_requests import offered_tools
from assistant.core.values.history_window import estimate_tokens
from assistant.services.assistants.provider_choice import choose_provider
from assistant.services.assistants.soft_threshold import soft_model
from assistant.services.run_key import RunKey
from assistant.services.runs.opening.open_run import with_input
from assistant.services.runs.opening.opening_query import OpeningState, read_opening_state
from assistant.services.runs.opening.plan_builder import plan_of
from assistant.services.runs.opening.run_setup import RunSetup, answered_by, answering, setup_of
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import quotas_of
from assistant.services.toolpolicy.conditions import answers_of_tools
from assistant.toolkit import Tool
from assistant.toolkit.definition.conditions import Offer


@dataclass(frozen=True, slots=True)
class Simulation:
    """What the first request of a member's run with an assistant would be.

    Attributes:
        state: what opening the run has read: the assistant, active runs, limits of the API key.
        setup: prompt, provider, settings, quotas, and every tool with its policy and rule.
        offered: the tools that the model is offered, in their order; with many tools a search tool and not all of them.
        conditions: what allowed tools with conditions have answered, by their names.
    """

    member: Member
    state: OpeningState
    setup: RunSetup
    offered: Sequence[Tool]
    conditions: Mapping[str, Offer]

    @property
    def prompt_tokens(self) -> int:
        """The tokens of the prompt, as estimated."""
        return estimate_tokens(self.setup.system_prompt)

    @property
    def schema_tokens(self) -> int:
        """The tokens of all offered tools together, as estimated."""
        return sum(map(schema_tokens, self.offered))


def simulate(*, member: Member, assistant_slug: str) -> Simulation | None:
    """Return what a new run of a member would be given; None if there is no such active assistant.

    Stores nothing, calls no tool and asks no model. Tools are asked whether they are offered, as in a run.
    """
    thread = uuid.uuid4()
    state = read_opening_state(member, assistant_slug, thread)
    if state is None:
        return None
    assistant = state.assistant
    quotas = quotas_of(assistant.tenant, is_end_user=member.is_end_user)
    own, soft = choose_provider(assistant), soft_model(assistant=assistant, quotas=quotas)
    setup = setup_of(member=member, state=state, choice=own, quotas=quotas)
    setup = answered_by(setup, answering(own, assistant=assistant, soft=soft), assistant=assistant)
    key = RunKey(
        pk=0,
        number=1,
        run_id="simulation",
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        assistant_id=assistant.pk,
        conversation_id=thread,
        owner="",
        began_at=timezone.now(),
    )
    setup = with_input(setup, RunInput(thread, key.run_id), {}, key=key, assistant=assistant)
    plan = plan_of(key=key, setup=setup, member=member)
    conditions = answers_of_tools(setup.tools, plan.context)
    return Simulation(member, state, setup, async_to_sync(offered_tools)(plan, conditions), conditions)
