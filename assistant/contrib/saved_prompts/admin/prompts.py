"""The page of the tenants' saved prompts, with how often they are used; people's own are nobody else's to read."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest

from assistant.admin.base.filters import TENANT
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.contrib.saved_prompts.models import SavedPrompt


class SavedPromptAdmin(TenantScopedAdmin):
    """What everybody in a tenant can put into the message box."""

    list_display = ("name", "tenant", "description", "uses", "last_used_at")
    list_filter = (TENANT,)
    list_select_related = ("tenant",)
    search_fields = ("name", "description")
    fields = ("tenant", "name", "description", "text", "uses", "last_used_at")
    readonly_fields = ("uses", "last_used_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SavedPrompt]:
        rows: QuerySet[SavedPrompt] = super().get_queryset(request)
        return rows.filter(user=None)
