"""What stands between a waiting call and its run: said before somebody approves it."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext

from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.services.approvals import expiry_of, member_of
from assistant.models import Approval
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.tools_of_runs import titles_of_added
from assistant.toolkit import InvalidArguments


def obstacle_of(call: Approval) -> str:
    """Return why a waiting call would not run if it was approved now, in the active language; empty if it would.

    The run that goes on checks all of this again: it may change until then.
    """
    run = call.waiting_run
    if expiry_of(call) <= timezone.now():
        return gettext("It has expired, and cannot be answered any more.")
    if member_of(call) is None:
        return gettext("The member has left the tenant.")
    tools = effective_tools(tenant_id=call.tenant_id, user_id=run.user_id, assistant_id=run.assistant_id)
    entry = next((one for one in tools if one.tool.name == call.name), None)
    if entry is None:
        is_added = call.name in titles_of_added(tenant_id=call.tenant_id, names=[call.name])
        return "" if is_added else gettext("There is no such tool any more.")
    if entry.policy == "off":
        return gettext("The tool is off: %(rule)s") % {"rule": shown_rule(entry.rule)}
    try:
        entry.tool.check(call.arguments)
    except InvalidArguments:
        return gettext("The tool has changed: it takes these arguments no longer. Edit them, or reject the call.")
    return ""
