"""What the control panel shows of collections."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from assistant.contrib.collections.models import Collection
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.rooms import show_in_room

show_in_room("assistants", Collection, after="document")
describe_empty_list(
    "collection", gettext_lazy("There are no collections: everybody in a tenant finds all of its documents.")
)
