"""What the control panel shows of the price list."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.price_list.models import ModelPrice

show_in_room("spend", ModelPrice, after="usageentry")
describe_empty_list(
    "modelprice",
    gettext_lazy("There are no prices, so answers cost nothing here. Add the prices of a model."),
)
