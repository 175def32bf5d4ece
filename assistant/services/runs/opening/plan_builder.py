"""Builds the plan of an opened run: model, messages, tools and context."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from assistant.core.extensions.extension import Interceptors, acting
from assistant.core.toolcalls.call_settings import CallSettings, Questions
from assistant.core.toolcalls.protocols import FixedToolset, Toolset
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import Message
from assistant.core.values.switched_off import note_of_tools_off
from assistant.providers.unavailable import UnavailableModel
from assistant.services.assistants.provider_choice import model_of
from assistant.services.run_key import RunKey
from assistant.services.runs.approval_expiry import APPROVAL_LIFETIME
from assistant.services.runs.extensions.deployment import ADDED
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.tenancy.members import Member
from assistant.services.toolcalls.interceptors import report_incident, tool_interceptors, with_interceptors
from assistant.services.toolcalls.run_journal import AuditJournal
from assistant.services.toolpolicy.many_tools import OFFERED_AT_ONCE, searched
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.toolkit import ToolContext
from assistant.toolkit.context import SharedState

logger = logging.getLogger(__name__)

# Of a run whose member can be asked everything; where not, an extension says so.
OF_MEMBERS = CallSettings(
    questions=Questions(midway=True, seconds=APPROVAL_LIFETIME.total_seconds()), on_raised=report_incident
)


def plan_of(*, key: RunKey, setup: RunSetup, member: Member) -> Plan:
    """Return the plan of a run, without a query; tools and journal use the database later."""
    seconds = setup.settings.limits.seconds
    context = ToolContext(
        tenant=member.tenant,
        user=member.user,
        assistant=setup.assistant_slug,
        thread_id=key.thread,
        run_id=key.run_id,
        deadline=timezone.now() + timedelta(seconds=seconds) if seconds else None,
        extra=member.extra,
        shared_state=SharedState(),
    )
    toolset: Toolset = TenantToolset(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        assistant_id=key.assistant_id,
        narrowing=setup.allowed_tools,
        initial=setup.tools,
        context=context,
    )
    model = with_interceptors(model_of(setup.provider), tenant=member.tenant.slug)
    messages = (
        Message("system", setup.system_prompt),
        *setup.summary,
        *(_tools_off_message(setup) if [entry for entry in setup.tools if entry.switched_off is not None] else ()),
        *setup.history,
    )
    interceptors = tool_interceptors()
    plan = Plan(
        model=model,
        messages=messages,
        toolset=toolset,
        context=context,
        settings=setup.settings,
        allowances=setup.allowances,
        decisions=setup.decisions,
        calls=OF_MEMBERS,
        journal=AuditJournal(key, member.tenant.slug, setup.quotas),
        extensions=(
            *([Interceptors(interceptors)] if interceptors else ()),
            *(acting(ADDED, context, messages) if ADDED else ()),
            *[extension for extension in setup.extensions if extension.acts_in_turn],
        ),
        thread_id=key.client_thread,
        run_id=key.client_run,
    )
    for extension in setup.extensions:
        if "planned" in extension.run_hooks:
            plan = extension.planned(plan)
    # Only toolsets that others stand around may offer more than the policy has found.
    if plan.toolset is not toolset or len([one for one in setup.tools if one.policy != "off"]) > OFFERED_AT_ONCE:
        plan = replace(plan, toolset=searched(plan.toolset))
    return plan


def _tools_off_message(setup: RunSetup) -> tuple[Message, ...]:
    """Return the system message about tools that operators have switched off, if there are any."""
    off = {entry.tool.name: entry.switched_off for entry in setup.tools if entry.switched_off is not None}
    note = note_of_tools_off(off, (call.name for message in setup.history for call in message.tool_calls))
    return (Message("system", note),) if note else ()


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
