"""From an opened run to the loop's plan: who answers, what they are told, which tools they have, and the context."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from assistant.core.messages import Message
from assistant.core.plan import Plan
from assistant.core.searching import SearchingToolset
from assistant.core.toolbox import Toolset
from assistant.services.delegation import DelegatingToolset
from assistant.services.incidents import watch_for_incidents
from assistant.services.journal import AuditJournal
from assistant.services.leases import RunKey
from assistant.services.members import Member
from assistant.services.observing import is_observed, observe_call, observed
from assistant.services.opening import RunSetup
from assistant.services.providers import model_of
from assistant.services.summaries import summary_message
from assistant.services.toolsets import TenantToolset
from tools import ToolContext


def plan_of(*, key: RunKey, setup: RunSetup, member: Member) -> Plan:
    """Everything the loop needs; nothing in it touches the database until a tool is called."""
    seconds = setup.limits.seconds
    # Most assistants ask no other, and spare the look for those.
    toolset_class = DelegatingToolset if setup.has_delegates else TenantToolset
    toolset: Toolset = toolset_class(
        tenant_id=member.tenant_id, user_id=member.user_id, assistant_id=key.assistant_id, initial=setup.tools
    )
    return Plan(
        model=observed(model_of(setup.provider), tenant=member.tenant.slug),
        messages=(Message("system", setup.system_prompt), *summary_message(setup.summary), *setup.history),
        toolset=SearchingToolset(toolset),
        context=ToolContext(
            tenant=member.tenant,
            user=member.user,
            assistant=setup.assistant_slug,
            thread_id=key.thread,
            run_id=key.run_id,
            deadline=timezone.now() + timedelta(seconds=seconds) if seconds else None,
        ),
        limits=setup.limits,
        options=setup.options,
        history_tokens=setup.history_tokens,
        client_tools=setup.client_tools,
        decisions=setup.decisions,
        journal=AuditJournal(key, member.tenant.slug),
        interceptors=(observe_call, watch_for_incidents) if is_observed() else (watch_for_incidents,),
        thread_id=key.thread,
        run_id=key.run_id,
    )
