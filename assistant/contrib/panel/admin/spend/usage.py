"""A read-only page of usage."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.filters import TENANT, AssistantFilter, NewestValuesFilter
from assistant.admin.base.links import assistant_column, link, user_column, username
from assistant.admin.base.long_lists import LongList
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.models import UsageEntry


@admin.register(UsageEntry)
class UsageEntryAdmin(LongList, ReadOnlyAdmin):
    """Token usage, as counted by the providers."""

    permission = "spend"
    list_display = (
        "created_at",
        "tenant",
        "member",
        assistant_column,
        "model",
        "purpose",
        "input_tokens",
        "output_tokens",
    )
    list_filter = (
        TENANT,
        AssistantFilter,
        ("provider", NewestValuesFilter),
        ("model", NewestValuesFilter),
        "purpose",
        "created_at",
    )
    search_fields = ("model", "provider", username("user"))
    list_select_related = ("tenant", "user", "assistant__tenant")
    exclude = ("run", "user")
    readonly_fields = ("member", "run_link")
    member = user_column("user")

    @admin.display(description=_("run"))
    def run_link(self, entry: UsageEntry) -> str:
        return link(entry.run)
