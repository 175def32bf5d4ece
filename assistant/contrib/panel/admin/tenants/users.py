"""Pages of users and groups for superusers only; a tenant's admin adds people through memberships.

They replace Django's own pages, but not those of a project with its own user model or pages.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group, User
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.merging import MergingAdmin, MergingForm
from assistant.admin.base.visible_tenants import is_list, picked_tenant_id
from assistant.contrib.panel.admin.base.operators_only import OperatorsOnly
from assistant.contrib.panel.admin.tenants.user_erasure import UserErasure
from assistant.models import Membership
from assistant.services.tenancy.memberships import LastAdministrator, check_users_leaving


class MembershipInline(admin.TabularInline[Membership, User]):
    """The user's memberships, read-only; they are edited on their own pages."""

    model = Membership
    verbose_name_plural = _("memberships")
    fields = readonly_fields = ("tenant", "role", "created_at")
    can_delete = False
    show_change_link = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("tenant", "user")


def _missed(users: list[User]) -> str:
    """Return why users cannot go: a tenant would have no owner, or no admin; empty if they can."""
    try:
        check_users_leaving(users=users)
    except LastAdministrator as exc:
        return str(exc).capitalize()
    return ""


class OperatorsUserForm(MergingForm, UserChangeForm[User]):
    """Does not deactivate the last owner or admin of a tenant."""

    def clean_is_active(self) -> bool:
        is_active = bool(self.cleaned_data["is_active"])
        if not is_active and self.initial.get("is_active") and (reason := _missed([self.instance])):
            raise forms.ValidationError(reason)
        return is_active


class OperatorsUserAdmin(OperatorsOnly, UserErasure, MergingAdmin, UserAdmin[User]):
    list_display = ("username", "email", "tenants", "is_staff", "is_superuser", "is_active", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser", "assistant_memberships__role")
    inlines = (MembershipInline,)
    form = OperatorsUserForm

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        rows = super().get_queryset(request).prefetch_related("assistant_memberships__tenant")
        picked = picked_tenant_id(request) if is_list(request) else None
        return rows if picked is None else rows.filter(assistant_memberships__tenant=picked)

    @admin.display(description=_("member of"))
    def tenants(self, user: User) -> str:
        return ", ".join(membership.tenant.slug for membership in user.assistant_memberships.all()) or "—"


class OperatorsGroupAdmin(OperatorsOnly, MergingAdmin, GroupAdmin):
    form = MergingForm
    list_display = ("name",)


def _replace(model: type[Model], stock: type[admin.ModelAdmin[Any]], ours: type[admin.ModelAdmin[Any]]) -> None:
    if type(admin.site._registry.get(model)) is stock:
        admin.site.unregister(model)
        admin.site.register(model, ours)


_replace(User, UserAdmin, OperatorsUserAdmin)
_replace(Group, GroupAdmin, OperatorsGroupAdmin)
