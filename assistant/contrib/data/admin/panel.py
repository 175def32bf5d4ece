"""The room *Data* of the control panel."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.contrib.data.models import ExposedModel, ReachReview
from assistant.contrib.data.services.row_signals import ROW_JOB, SOURCE_JOB
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.base.rooms import Room, add_room, show_in_room

add_room(Room("data", _("Data")), after="tools")
show_in_room("data", ReachReview)
show_in_room("data", ExposedModel, after="reachreview")
describe_job(SOURCE_JOB, _("Compare rows with their documents"))
describe_job(ROW_JOB, _("Make a document of a row"))
