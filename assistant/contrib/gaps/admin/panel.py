"""What the control panel shows of gaps."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from assistant.contrib.gaps.models import OpenQuestion, QuestionLabel
from assistant.contrib.gaps.services.changes import CHECK_JOB
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.base.rooms import show_in_room

show_in_room("assistants", OpenQuestion, after="document")
show_in_room("assistants", QuestionLabel, after="openquestion")
describe_empty_list(
    "questionlabel", gettext_lazy("No question has a label. The page of gaps makes them, one click for each question.")
)
describe_job(CHECK_JOB, gettext_lazy("Check documents"))
