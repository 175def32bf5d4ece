"""What the control panel shows of saved prompts."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.saved_prompts.models import SavedPrompt

show_in_room("assistants", SavedPrompt, after="promptvariable")
describe_empty_list(
    "savedprompt",
    gettext_lazy("No prompt is saved for everybody. Members put saved prompts into the message box with a slash."),
)
