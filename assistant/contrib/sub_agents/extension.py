"""Assistants as tools of others, each with its own prompt, model, tools and limits.

The called assistant works for the same member, and the same policy function decides which tools it may use.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assistant.client.agents import Agent
from assistant.contrib.sub_agents.models import Delegation
from assistant.contrib.sub_agents.names import askable, tool_name_of
from assistant.core.toolcalls.protocols import Admission, Toolset
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import ToolCall
from assistant.core.values.settings import AssistantSettings
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.models import Assistant
from assistant.services.assistants.configuration import prompt_of, settings_of, with_prompt
from assistant.services.assistants.fallback_choice import fallback_of
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.assistants.provider_choice import ProviderChoice, choose_provider, model_of
from assistant.services.assistants.soft_threshold import SoftModel
from assistant.services.db.threads import in_database_with_retry
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.fallback_models import fallback_model
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.toolcalls.interceptors import with_interceptors
from assistant.services.toolpolicy.many_tools import searched
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.toolkit import Tool, ToolContext
from assistant.toolkit.context import UserId


@dataclass(frozen=True, slots=True)
class Delegate:
    """An assistant that another may call, read from its row."""

    assistant_id: int
    tool_name: str
    slug: str
    name: str
    description: str
    prompt: str
    provider: ProviderChoice
    settings: AssistantSettings
    tenant_slug: str
    fallback: ProviderChoice | None = None
    task_schema: Mapping[str, Any] | None = None


def delegates_of(
    *, tenant_id: int, assistant_id: int, user_id: UserId, soft: SoftModel | None = None
) -> list[Delegate]:
    """Return the active assistants of the tenant that this one may call, with one query.

    What the variables of their prompts stand for is read with one query a kind, if there are any.

    Args:
        soft: what answers in place of what each would choose; None below the tenant's soft threshold of cost.
    """
    assistants = askable(tenant_id=tenant_id, assistant_id=assistant_id)
    rows = list(with_prompt(assistants.order_by("slug")).select_related("delegation"))
    if not rows:
        return []
    # Slugs that differ only in dashes and underscores have the same tool name; the first one is used.
    named = {tool_name_of(row.slug): row for row in reversed(rows)}
    values = PromptValues(tenant=rows[0].tenant, user_id=user_id)
    return [_delegate(row, tool_name, values, soft) for tool_name, row in sorted(named.items())]


def _delegate(row: Assistant, tool_name: str, values: PromptValues, soft: SoftModel | None) -> Delegate:
    own = choose_provider(row)
    # There is no such attribute where the assistant has no row.
    delegation: Delegation | None = getattr(row, "delegation", None)
    provider = own if soft is None else soft.instead_of(own, row)
    return Delegate(
        assistant_id=row.pk,
        tool_name=tool_name,
        slug=row.slug,
        name=row.name,
        description=row.description or row.name,
        prompt=prompt_of(row, lambda: values),
        provider=provider,
        settings=settings_of(row, provider),
        tenant_slug=row.tenant.slug,
        fallback=fallback_of(assistant=row, choice=provider, own=own),
        task_schema=None if delegation is None else delegation.task_schema,
    )


@dataclass(frozen=True)
class SubAgents(RunExtension[None]):
    """Adds the assistants that a run's assistant may call to its tools.

    Attributes:
        narrowing, soft: as for `DelegatingToolset`.
    """

    is_configured = True
    key: RunKey
    narrowing: Collection[str] | None
    soft: SoftModel | None

    def planned(self, plan: Plan) -> Plan:
        toolset = DelegatingToolset(
            plan.toolset,
            tenant_id=self.key.tenant_id,
            user_id=self.key.user_id,
            assistant_id=self.key.assistant_id,
            narrowing=self.narrowing,
            context=plan.context,
            soft=self.soft,
        )
        return replace(plan, toolset=toolset)


def sub_agents(key: RunKey, assistant: Assistant, setup: RunSetup) -> tuple[SubAgents, ...]:
    """Return the extension of the runs of an assistant that may ask others."""
    return (SubAgents(key, setup.allowed_tools, setup.answering.soft),)


class DelegatingToolset:
    """A member's tools for one assistant with the assistants that it may call.

    Args:
        toolset: the tools without them, with the same `narrowing`.
        narrowing: the names of the only tools allowed, here and for the assistants that are called; None for all.
        context: for tools that are asked whether they know a destination.
        soft: as for `delegates_of`.
    """

    def __init__(
        self,
        toolset: Toolset,
        *,
        tenant_id: int,
        user_id: UserId,
        assistant_id: int,
        narrowing: Collection[str] | None = None,
        context: ToolContext | None = None,
        soft: SoftModel | None = None,
    ) -> None:
        self._soft = soft
        self._toolset = toolset
        self._context = context
        self._narrowing = narrowing
        self._tenant_id = tenant_id
        self._user_id = user_id
        self._assistant_id = assistant_id

    async def offered(self) -> Sequence[Tool]:
        own = await self._toolset.offered()
        taken = {tool.name for tool in own}
        agents = [self._agent(row).as_tool() for row in await self._delegates()]
        return [*own, *(agent for agent in agents if agent.name not in taken)]

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        delegates = {row.tool_name: row for row in await self._delegates()}
        admissions = await self._toolset.admit(calls, read)
        return [
            self._admission(delegates[call.name], admission)
            if admission.tool is None and call.name in delegates
            else replace(admission, callable_names=(*admission.callable_names, *delegates))
            for call, admission in zip(calls, admissions, strict=True)
        ]

    async def _delegates(self) -> list[Delegate]:
        found = await in_database_with_retry(
            delegates_of,
            tenant_id=self._tenant_id,
            assistant_id=self._assistant_id,
            user_id=self._user_id,
            soft=self._soft,
        )
        return [row for row in found if self._narrowing is None or row.tool_name in self._narrowing]

    def _admission(self, row: Delegate, admission: Admission) -> Admission:
        return Admission(
            self._agent(row).as_tool(),
            rule=f"This assistant may ask {row.name}.",
            callable_names=admission.callable_names,
            tools=admission.tools,
        )

    def _agent(self, row: Delegate) -> Agent:
        asked = {"tenant_id": self._tenant_id, "user_id": self._user_id, "assistant_id": row.assistant_id}
        toolset = TenantToolset(**asked, narrowing=self._narrowing, context=self._context)
        return Agent(
            name=row.tool_name,
            description=f"Ask the assistant {row.name!r}: {row.description}",
            model=with_interceptors(model_of(row.provider), tenant=row.tenant_slug),
            fallbacks=() if row.fallback is None else (fallback_model(row.fallback, tenant=row.tenant_slug),),
            toolset=searched(
                DelegatingToolset(toolset, **asked, narrowing=self._narrowing, context=self._context, soft=self._soft)
            ),
            system=row.prompt,
            settings=row.settings,
            input_type=row.task_schema,
            output_type=row.settings.answer_schema,
            title=row.name,
            slug=row.slug,
        )
