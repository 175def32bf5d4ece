"""What the control panel shows of folders and websites."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services.changes import REFRESH_JOB

show_in_room("assistants", Source, after="document")
describe_empty_list(
    "source", gettext_lazy("No folder or website is read. Add one, and its pages become documents that stay current.")
)
describe_job(REFRESH_JOB, gettext_lazy("Read a folder or website"))
