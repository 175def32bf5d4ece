"""The roles that tenants define themselves: sets of permissions of the control panel."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import link_to_list
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.contrib.panel.services.custom_roles import lacking_for
from assistant.models import CustomRole, Membership, Tenant
from assistant.models.people import PERMISSIONS
from assistant.services.tenancy.permissions import lacks


def sentence_of_lacking(names: list[str]) -> str:
    """Return why somebody cannot give or take these permissions."""
    labels = [str(CustomRole._meta.get_field(name).verbose_name) for name in names]  # type: ignore[union-attr]
    return gettext("You lack what this role allows: %(names)s.") % {"names": ", ".join(labels)}


def labels_of(role: CustomRole) -> list[str]:
    """Return the names of what a role allows."""
    fields = (CustomRole._meta.get_field(name) for name in PERMISSIONS if getattr(role, name))
    return [str(field.verbose_name) for field in fields]  # type: ignore[union-attr]


class CustomRoleForm(TenantForm):
    """A role's name and permissions: only those that the user has."""

    actor: Any = None

    class Meta:
        model = CustomRole
        fields = ("tenant", "name", *PERMISSIONS)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        tenant: Tenant | None = cleaned.get("tenant") or getattr(self.instance, "tenant", None)
        if tenant is None:
            return cleaned
        wanted = {name for name in PERMISSIONS if cleaned.get(name)}
        stored = CustomRole.objects.filter(tenant=tenant, pk=self.instance.pk).first()
        touched = wanted | (stored.permissions if stored is not None else frozenset())
        if names := lacks(actor=self.actor, tenant=tenant, permissions=touched):
            self.add_error(None, sentence_of_lacking(names))
        if not wanted:
            self.add_error(None, gettext("A role without a permission would allow nothing: choose at least one."))
        return cleaned


@admin.register(CustomRole)
class CustomRoleAdmin(TenantScopedAdmin):
    """The roles of tenants; members hold them besides being member, admin or owner."""

    permission = "people"
    form = CustomRoleForm
    list_display = ("name", "tenant", "allows", "held_by", "created_at")
    list_filter = (TENANT, *PERMISSIONS)
    search_fields = ("name", "tenant__slug")
    list_select_related = ("tenant",)
    fieldsets = ((None, {"fields": ("tenant", "name")}), (_("Whoever holds it may"), {"fields": PERMISSIONS}))

    def get_queryset(self, request: HttpRequest) -> QuerySet[CustomRole]:
        rows: QuerySet[CustomRole] = super().get_queryset(request).annotate(holders=Count("members"))
        return rows

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.actor = request.user
        return form

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if isinstance(field, forms.BooleanField):
            field.label = field.help_text
            field.help_text = ""
        return field

    @admin.display(description=_("allows"))
    def allows(self, role: CustomRole) -> str:
        return ", ".join(labels_of(role))

    @admin.display(description=_("held by"), ordering="holders")
    def held_by(self, role: Any) -> str:
        return link_to_list(Membership, role.holders, custom_roles__id__exact=role.pk)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Keep roles that allow what the user lacks: deleting one would take it from its holders."""
        found, counts, missing, protected = super().get_deleted_objects(objs, request)
        return found, counts, missing, [*protected, *self._kept(request, list(objs))]

    def _kept(self, request: HttpRequest, roles: list[CustomRole]) -> list[str]:
        lacking = ((role, lacking_for(actor=request.user, tenant=role.tenant, roles=[role])) for role in roles)
        return [f"{role}: {sentence_of_lacking(names)}" for role, names in lacking if names]
