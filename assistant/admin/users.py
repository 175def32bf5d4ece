"""Users and groups: the superusers' business alone; a tenant's admin adds people through memberships."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest

from assistant.admin.scope import OperatorsOnly
from assistant.models import Membership

admin.site.unregister(Group)
admin.site.unregister(User)


class PlacesInline(admin.TabularInline[Membership, User]):
    """Where a user belongs; changed on the memberships' own pages."""

    model = Membership
    verbose_name_plural = "memberships"
    fields = readonly_fields = ("tenant", "role", "created_at")
    can_delete = False
    show_change_link = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("tenant", "user")


@admin.register(User)
class OperatorsUserAdmin(OperatorsOnly, UserAdmin[User]):
    list_display = ("username", "email", "places", "is_staff", "is_superuser", "is_active", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser", "memberships__role")
    inlines = (PlacesInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("memberships__tenant")

    @admin.display(description="member of")
    def places(self, user: User) -> str:
        return ", ".join(place.tenant.slug for place in user.memberships.all()) or "—"


@admin.register(Group)
class OperatorsGroupAdmin(OperatorsOnly, GroupAdmin):
    list_display = ("name",)
