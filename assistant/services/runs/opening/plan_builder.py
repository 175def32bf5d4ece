"""Builds the plan of an opened run: model, messages, tools and context."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.utils import timezone

from assistant.core.extensions.extension import Interceptors, acting
from assistant.core.llm.typed_output import SchemaOutput
from assistant.core.toolcalls.call_settings import CallSettings, Questions
from assistant.core.toolcalls.protocols import FixedToolset, Toolset
from assistant.core.toolcalls.result_cache import Cache
from assistant.core.toolcalls.tool_search import OFFERED_AT_ONCE, SearchingToolset
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import Message
from assistant.core.values.switched_off import note_of_tools_off
from assistant.providers.unavailable import UnavailableModel
from assistant.services.assistants.provider_choice import model_of
from assistant.services.run_key import RunKey
from assistant.services.runs.approval_expiry import APPROVAL_LIFETIME
from assistant.services.runs.extensions.deployment import ADDED
from assistant.services.runs.opening.delegation import DelegatingToolset
from assistant.services.runs.opening.fallback_model import fallback_model
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.tenancy.members import Member
from assistant.services.toolcalls.interceptors import tool_interceptors, with_interceptors
from assistant.services.toolcalls.pending_calls import callback_of
from assistant.services.toolcalls.run_journal import AuditJournal
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.toolkit import ToolContext
from assistant.toolkit.shared_state import SharedState

logger = logging.getLogger(__name__)


def plan_of(*, key: RunKey, setup: RunSetup, member: Member) -> Plan:
    """Return the plan of a run, without a query; tools and journal use the database later."""
    seconds, schema = setup.settings.limits.seconds, setup.settings.answer_schema
    context = ToolContext(
        tenant=member.tenant,
        user=member.user,
        assistant=setup.assistant_slug,
        thread_id=key.thread,
        run_id=key.run_id,
        deadline=timezone.now() + timedelta(seconds=seconds) if seconds else None,
        extra=member.extra,
        shared_state=SharedState(setup.state),
    )
    # Most assistants have no delegates, and so save the queries for them.
    toolset_class = partial(DelegatingToolset, soft=setup.answering.soft) if setup.has_delegates else TenantToolset
    toolset: Toolset = toolset_class(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        assistant_id=key.assistant_id,
        narrowing=setup.allowed_tools,
        initial=setup.tools,
        context=context,
    )
    interceptors = tool_interceptors()
    if setup.answers is not None:
        # Caches are shared with all other runs, where results that a test made up must never get to.
        uncached = (one for one in interceptors if not isinstance(one, Cache))
        toolset, interceptors = setup.answers.over(toolset), (*uncached, setup.answers)
    if setup.interrupted.doubtful:
        toolset = setup.interrupted.over(toolset)
    if setup.has_delegates or len([entry for entry in setup.tools if entry.policy != "off"]) > OFFERED_AT_ONCE:
        toolset = SearchingToolset(toolset)
    can_ask = not (setup.is_stateless or setup.is_unattended)
    model = with_interceptors(model_of(setup.provider), tenant=member.tenant.slug)
    fallback = setup.answering.fallback
    messages = (
        Message("system", setup.system_prompt),
        *setup.summary,
        *_tools_off_message(setup),
        *setup.history,
    )
    return Plan(
        model=model,
        messages=messages,
        toolset=toolset,
        context=context,
        settings=setup.settings,
        allowances=setup.allowances,
        # A client's tool must not take the name of a tool in the catalogue, even of one that is switched off.
        client_tools=[one for one in setup.client_tools if one.name not in catalogue.registry()],
        decisions=setup.decisions,
        tool_choice=setup.tool_choice,
        response_format=setup.response_format,
        calls=CallSettings(
            questions=Questions(
                can_ask=can_ask,
                has_forms=setup.has_forms,
                midway=can_ask and setup.has_forms and (setup.answers is None or setup.answers.has_person),
                seconds=APPROVAL_LIFETIME.total_seconds(),
            ),
            callbacks=partial(callback_of, key, member.tenant.slug) if _can_wait(setup) else None,
        ),
        journal=AuditJournal(key, member.tenant.slug, setup.quotas, setup.interrupted.repeatable),
        extensions=(
            Interceptors(interceptors),
            *(acting(ADDED, context, messages) if ADDED else ()),
            *setup.extensions,
        ),
        output=SchemaOutput(schema) if schema else None,
        output_mode=getattr(model, "output_mode", "native"),
        fallbacks=() if fallback is None else (fallback_model(fallback, tenant=member.tenant.slug),),
        thread_id=key.client_thread,
        run_id=key.client_run,
    )


def _tools_off_message(setup: RunSetup) -> tuple[Message, ...]:
    """Return the system message about tools of earlier calls that operators have switched off, or nothing."""
    off = {entry.tool.name: entry.switched_off for entry in setup.tools if entry.switched_off is not None}
    if not off:
        return ()
    note = note_of_tools_off(off, (call.name for message in setup.history for call in message.tool_calls))
    return (Message("system", note),) if note else ()


def _can_wait(setup: RunSetup) -> bool:
    """Return whether a run may end with calls whose results come later: it has to go on by itself then.

    It may not if the caller narrows the tools: the run that continues has no caller, and would have all of them.
    """
    is_alone = setup.is_stateless or setup.is_unattended or setup.answers is not None
    return bool(settings.ASSISTANT_PENDING_CALLS) and setup.can_wait and setup.allowed_tools is None and not is_alone


def plan_or_failure(*, key: RunKey, setup: RunSetup, member: Member) -> Plan:
    """Return the plan of a run; if it cannot be made, one that fails at once, so that the run ends and says so."""
    try:
        return plan_of(key=key, setup=setup, member=member)
    except Exception as exc:
        logger.exception("The plan of run %s of tenant %s could not be made", key.run_id, member.tenant.slug)
        reason = f"The run could not be prepared ({type(exc).__name__}); the log has the reason."
        return Plan(
            model=UnavailableModel(setup.provider.model, provider=setup.provider.name, reason=reason),
            messages=tuple(setup.history),
            toolset=FixedToolset(()),
            context=ToolContext(
                tenant=member.tenant,
                user=member.user,
                assistant=setup.assistant_slug,
                thread_id=key.thread,
                run_id=key.run_id,
            ),
            journal=AuditJournal(key, member.tenant.slug, setup.quotas),
            thread_id=key.client_thread,
            run_id=key.client_run,
            extensions=setup.extensions,
        )
