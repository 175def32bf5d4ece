"""The page *Receipts* of the control panel: where values and claims of answers have no source, and which answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.own_addresses import reverse
from assistant.contrib.panel.admin.base.page_of_rows import PageOfRows
from assistant.contrib.panel.admin.base.picker import reported_tenants
from assistant.contrib.panel.admin.base.rooms import Link, show_in_room
from assistant.contrib.receipts.models import Receipt
from assistant.contrib.receipts.services.counting import KINDS, MAX_ANSWERS, MAX_LINES, answers_amiss, lines_by

PERMISSION = "read_chats"
DAYS = (7, 30, 90)
TITLES = {
    "assistant": gettext_lazy("Assistant"),
    "prompt": gettext_lazy("Version of the prompt"),
    "model": gettext_lazy("Model"),
    "tool": gettext_lazy("Tool"),
}


@admin.register(Receipt)
class ReceiptAdmin(PageOfRows):
    """In place of the list of receipts stands the page. Receipts are made by the program, and changed by nobody."""

    permission = PERMISSION

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the counts of some days by one kind, and the newest answers with something amiss."""
        if not self.has_view_permission(request):
            return super().changelist_view(request, extra_context)
        by = next((kind for kind in KINDS if kind == request.GET.get("by")), KINDS[0])
        days = next((one for one in DAYS if str(one) == request.GET.get("days")), DAYS[1])
        tenants = reported_tenants(request, PERMISSION)
        since = timezone.now() - timedelta(days=days)
        rows = tenants.rows(Receipt.objects.filter(created_at__gte=since, run__is_test=False))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Receipts"),
            "opts": self.model._meta,
            "days": [Link(_("%(n)s days") % {"n": one}, f"?by={by}&days={one}", one == days) for one in DAYS],
            "tabs": [Link(str(TITLES[kind]), f"?by={kind}&days={days}", kind == by) for kind in KINDS],
            "heading": TITLES[by],
            "by": by,
            "lines": lines_by(by, rows),
            "most": MAX_LINES,
            "most_answers": MAX_ANSWERS,
            "answers": [(row, _conversation(row)) for row in answers_amiss(rows)],
        }
        return TemplateResponse(request, "admin/assistant/receipts/page.html", context)


def _conversation(row: Receipt) -> str:
    return reverse("admin:assistant_conversation_change", args=[row.run.conversation_id])


show_in_room("conversations", Receipt, after="feedback")
