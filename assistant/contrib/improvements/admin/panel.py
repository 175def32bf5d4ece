"""What the control panel shows of improvements: the desk, *Needs you*, a tab of assistants, and annotations."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext_lazy, ngettext

from assistant.contrib.improvements.admin.annotations import annotation_parts
from assistant.contrib.improvements.admin.desk import TAB
from assistant.contrib.improvements.models import Annotation, ProblemGroup
from assistant.contrib.improvements.services.groups import lines_of
from assistant.contrib.panel.admin.assistants.assistant_tabs import CONVERSATIONS, add_assistant_tab
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.conversations.run_sections import add_thread_part
from assistant.contrib.panel.admin.home.home import describe_need
from assistant.contrib.panel.reports.needs import Item, look_for
from assistant.contrib.panel.reports.tenant_filter import TenantFilter

NEW = "new-problems"
# Groups are new for so long; then they are on the desk alone.
NEW_FOR = timedelta(days=7)


def new_groups(tenants: TenantFilter) -> list[Item]:
    """Return the groups of the last days about which nobody has decided, those with the most cases first; one query."""
    now = timezone.now()
    rows = ProblemGroup.objects.filter(
        state=ProblemGroup.State.OPEN,
        created_at__gte=now - NEW_FOR,
        tenant__is_active=True,
        assistant__is_active=True,
    )
    found = [line.group for line in lines_of(tenants.rows(rows), now=now)]
    return [Item(f"{group.assistant.name}: {group}", group.tenant.name, group.pk) for group in found]


look_for(NEW, new_groups, after="approval")
describe_need(
    NEW,
    sentence=lambda n: ngettext("%(n)s new kind of problem", "%(n)s new kinds of problems", n),
    every="assistant_improvements_problemgroup_changelist",
    page="assistant_improvements_problemgroup_change",
)
show_in_room("assistants", ProblemGroup, after="promptversion")
show_in_room("conversations", Annotation, after="feedback")
add_assistant_tab(TAB, after=CONVERSATIONS)
add_thread_part(annotation_parts)
describe_empty_list(
    "annotation",
    gettext_lazy("Nobody has annotated an answer. Open a conversation: below each answer is a form for it."),
)
