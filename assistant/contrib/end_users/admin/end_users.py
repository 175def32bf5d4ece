"""Origins that may embed an assistant, and the end users who have used one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.filters import TENANT, AssistantFilter
from assistant.admin.base.links import assistant_column, link_to_list
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.contrib.end_users.models import EndUser, WidgetOrigin
from assistant.contrib.end_users.services.tokens import delete_end_user
from assistant.models import Conversation


@admin.register(WidgetOrigin)
class WidgetOriginAdmin(TenantScopedAdmin):
    """The allow-list of origins; deleting a row closes the connections from that origin."""

    list_display = ("origin", assistant_column, "tenant", "created_at")
    list_filter = (TENANT, AssistantFilter)
    search_fields = ("origin", "assistant__name", "tenant__slug")
    list_select_related = ("assistant__tenant", "tenant")
    fields = ("tenant", "assistant", "origin", "created_at")
    readonly_fields = ("created_at",)


@admin.register(EndUser)
class EndUserAdmin(TenantScopedAdmin):
    """End users, created with their first token; deleting one deletes their conversations too."""

    permission = "people"
    possible_actions = frozenset({"view", "delete"})
    tenant_admins_may = frozenset({"view"})
    list_display = ("__str__", "external_id", "tenant", "conversations", "seen_at", "created_at")
    list_filter = (TENANT, "seen_at")
    search_fields = ("external_id", "name")
    list_select_related = ("tenant",)
    fields = ("tenant", "external_id", "name", "context", "conversations", "seen_at", "created_at")
    readonly_fields = fields

    @admin.display(description=_("conversations"))
    def conversations(self, end_user: EndUser) -> SafeString:
        return link_to_list(Conversation, gettext("Conversations"), user__exact=end_user.user_id)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_end_user(end_user=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for end_user in queryset:
            delete_end_user(end_user=end_user)
