"""The list of labels of questions, where they are deleted; the page of gaps makes them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.tenant_scope import TenantScopedAdmin


class QuestionLabelAdmin(TenantScopedAdmin):
    """What somebody has said of questions."""

    possible_actions = frozenset({"view", "delete"})
    tenant_admins_may = frozenset({"view", "delete"})
    list_display = ("question", "tenant", "answer", "created_by", "changed_at")
    list_filter = (TENANT, ("document", admin.EmptyFieldListFilter))
    search_fields = ("question",)
    list_select_related = ("tenant", "document", "created_by")
    fields = ("tenant", "question", "wordings", "document", "changed_at")
    readonly_fields = ("changed_at",)

    @admin.display(description=gettext_lazy("answered by"))
    def answer(self, obj: Any) -> str:
        return str(obj.document) if obj.document is not None else _("no document")
