"""The list of labels of questions, where they are deleted; the page of gaps makes them and names their passages."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.html import format_html
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin


class QuestionLabelAdmin(TenantScopedAdmin):
    """What somebody has said of questions."""

    possible_actions = frozenset({"view", "delete"})
    tenant_admins_may = frozenset({"view", "delete"})
    list_display = ("question", "tenant", "answer", "named", "created_by", "changed_at")
    list_filter = (TENANT, ("document", admin.EmptyFieldListFilter), "is_lost")
    search_fields = ("question", "passage")
    list_select_related = ("tenant", "document", "created_by")
    fields = ("tenant", "question", "wordings", "document", "passage", "is_lost", "changed_at")
    readonly_fields = ("is_lost", "changed_at")

    @admin.display(description=gettext_lazy("answered by"))
    def answer(self, obj: Any) -> str:
        return str(obj.document) if obj.document is not None else _("no document")

    @admin.display(description=gettext_lazy("passage"))
    def named(self, obj: Any) -> str:
        """Return the words of the passage, with a link to where another one is chosen."""
        if obj.document_id is None:
            return "–"
        text = Truncator(obj.passage).chars(80) or _("any of the document")
        if obj.is_lost:
            text = _("No longer in the document: %(words)s") % {"words": text}
        address = reverse("admin:assistant_gaps_openquestion_changelist")
        return format_html(
            '<a href="{}?tenant={}&amp;label={}#gaps-passage" dir="auto">{}</a>', address, obj.tenant_id, obj.pk, text
        )
