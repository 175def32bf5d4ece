"""What the pages of the control panel show of results that come later."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.contrib.later_results.admin import pending  # noqa: F401 - it registers
from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services.pending_calls import CONTINUE_JOB, EXPIRE_JOB
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.base.rooms import show_in_room

show_in_room("inbox", PendingCall, after="approval")
# Without it a call would wait for ever: it is ended on the call's own page.
describe_job(EXPIRE_JOB, _("Wait no more for a result"), page=PendingCall)
describe_job(CONTINUE_JOB, _("Go on with what has come"))
