"""The titles of jobs' work on pages."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.services.jobs.names import CHECKS_JOB, EVALUATE_JOB, PUBLISH_JOB
from assistant.services.mcp_servers.health_checks import LIST_JOB
from assistant.services.privacy.daily_retention import RETENTION_JOB
from assistant.services.reminders.alarms import REACH_JOB, RING_JOB
from assistant.services.runs.kept_requests import ERASE_JOB
from assistant.services.schedules.schedules import ASK_JOB, DUE_JOB
from assistant.services.toolcalls.pending_calls import CONTINUE_JOB, EXPIRE_JOB

JOB_TITLES = {
    RING_JOB: _("Have an alarm ring"),
    REACH_JOB: _("Tell an alarm that no chat shows"),
    DUE_JOB: _("A schedule is due"),
    ASK_JOB: _("Ask a scheduled question"),
    EXPIRE_JOB: _("Wait no more for a result"),
    CONTINUE_JOB: _("Go on with what has come"),
    PUBLISH_JOB: _("Publish a prompt"),
    CHECKS_JOB: _("Check an assistant"),
    EVALUATE_JOB: _("Run an evaluation"),
    LIST_JOB: _("List an MCP server's tools"),
    RETENTION_JOB: _("Delete what is older than the retention periods"),
    ERASE_JOB: _("Erase what models were sent"),
}


def job_title(name: str) -> str:
    """Return the title of a job's work; the job's name if it has none."""
    return str(JOB_TITLES.get(name, name))
