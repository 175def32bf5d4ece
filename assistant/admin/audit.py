"""A read-only page of the audit trail."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.utils.translation import gettext_lazy

from assistant.admin.base.changes import sentence_of_entry
from assistant.admin.base.filters import TENANT, NewestValuesFilter
from assistant.admin.base.links import user_column, username
from assistant.admin.base.long_lists import LongList
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.models import AuditEntry


class AuditEntryAdmin(LongList, ReadOnlyAdmin):
    """The audit trail: who changed which switch, prompt, key or setting."""

    list_display: tuple[str, ...] = ("created_at", "tenant", "who", "action", "target", "change")
    list_filter = (TENANT, ("action", NewestValuesFilter), "created_at")
    search_fields = ("action", "target", username("actor"))
    list_select_related = ("tenant", "actor")
    fields: ClassVar[tuple[Any, ...]] = ("tenant", "action", "target", "details", "who", "change", "created_at")
    readonly_fields: ClassVar[tuple[Any, ...]] = ("who", "change")
    who = user_column("actor")

    @admin.display(description=gettext_lazy("before → after"))
    def change(self, entry: AuditEntry) -> str:
        return sentence_of_entry(entry)
