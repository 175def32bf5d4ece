"""The page of the audit trail, with its actions in words."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy

from assistant.admin.audit import AuditEntryAdmin
from assistant.admin.base.filters import TENANT
from assistant.contrib.panel.admin.base.action_titles import ActionFilter, action_title
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.models import AuditEntry


@replace(AuditEntry)
class AuditPages(AuditEntryAdmin):
    """The audit trail: who changed which switch, prompt, key or setting."""

    list_display = ("created_at", "tenant", "who", "what", "target", "change")
    list_filter = (TENANT, ("action", ActionFilter), "created_at")
    fields = ("tenant", "what", "target", "details", "who", "change", "created_at")
    readonly_fields = ("who", "what", "change")

    @admin.display(description=gettext_lazy("what"), ordering="action")
    def what(self, entry: AuditEntry) -> str:
        return action_title(entry.action)
