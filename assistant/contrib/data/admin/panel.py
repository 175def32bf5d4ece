"""The room *Data* of the control panel."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.contrib.data.admin import reach_page  # noqa: F401 - it registers
from assistant.contrib.data.models import ReachReview
from assistant.contrib.panel.admin.base.rooms import Room, add_room, show_in_room

add_room(Room("data", _("Data")), after="tools")
show_in_room("data", ReachReview)
