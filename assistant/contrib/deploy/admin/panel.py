"""The page of what an operator tries, in the room *Settings*."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.deploy.admin.checklist_page import URL_NAME, checklist_page
from assistant.contrib.panel.admin.base.action_titles import name_actions
from assistant.contrib.panel.admin.base.rooms import AddedPage, add_page

add_page(
    AddedPage(
        room="settings",
        name=gettext_lazy("Backup and upgrades"),
        route="backup-and-upgrades/",
        url_name=URL_NAME,
        view=checklist_page,
        may_see=is_operator,
    )
)
name_actions("checklist", gettext_lazy("checklist"))
