"""Restricts the admin's pages to the tenants that the user administers.

That covers lists, forms, choices, searches, actions, history and object URLs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from django import forms
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext

from assistant import optional_apps
from assistant.admin.base.changes import changed_values
from assistant.admin.base.deletion_tree import deleted_with, readable_tree
from assistant.admin.base.links import assistant_label
from assistant.admin.base.merging import MergingAdmin, MergingForm, MergingInline
from assistant.admin.base.overflow import OverflowSafeChangeList
from assistant.admin.base.own_transactions import OwnTransactions
from assistant.admin.base.secret_fields import ask_again
from assistant.admin.base.visible_tenants import is_list, is_operator, permitted_of, picked_tenant_id
from assistant.models import Assistant, Membership, Provider, Tenant
from assistant.models.fields import EncryptedTextField
from assistant.services.tenancy import audit_trail
from assistant.toolkit.bounded_json import BoundedDecoder

ALL = frozenset({"view", "add", "change", "delete"})
# Themes of the admin for which `themes.css` has rules.
THEMES = ("unfold", "jazzmin")
# Style sheets of all pages of tenants' rows, which apps add.
STYLES: list[str] = ["assistant/admin/themes.css"] if any(map(apps.is_installed, THEMES)) else []
# Pages of a model that have a template of their own.
PAGES = ("change_list", "change_form", "delete_confirmation", "delete_selected_confirmation", "object_history")


def choices_of(request: HttpRequest, model: type[models.Model], permission: str = "") -> QuerySet[Any]:
    """Return the rows of `model` that a form may offer as choices to a user with the permission that its page needs.

    Their secrets are not read.
    """
    encrypted = [field.name for field in model._meta.concrete_fields if isinstance(field, EncryptedTextField)]
    return _choices_of(request, model, permission).defer(*encrypted)


def _choices_of(request: HttpRequest, model: type[models.Model], permission: str) -> QuerySet[Any]:
    if is_operator(request):
        return model._default_manager.all()
    mine = permitted_of(request).tenants(permission)
    if model is Tenant:
        return Tenant.objects.filter(pk__in=mine)
    if model is get_user_model():
        return model._default_manager.filter(assistant_memberships__tenant_id__in=mine).distinct()
    if model is Provider:
        # Providers of the deployment can be chosen by name, though their pages are for operators only.
        return Provider.objects.filter(Q(tenant_id__in=mine) | Q(tenant=None))
    registered = admin.site._registry.get(model)
    if isinstance(registered, TenantScopedAdmin):
        return model._default_manager.filter(**{f"{registered.tenant_path}__in": mine})
    return model._default_manager.none()


class TenantForm(MergingForm):
    """A form whose row cannot change its tenant and can refer to rows of the same tenant only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "tenant" in self.fields:
            self.fields["tenant"].disabled = True

    def full_clean(self) -> None:
        super().full_clean()
        ask_again(self)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        tenant = self.instance if isinstance(self.instance, Tenant) else cleaned.get("tenant")
        tenant_id = tenant.pk if tenant is not None else getattr(self.instance, "tenant_id", None)
        if isinstance(self.instance, Tenant) or hasattr(self.instance, "tenant_id"):
            for name in [name for name, value in cleaned.items() if _is_foreign(value, tenant_id)]:
                self.add_error(name, gettext("This does not belong to the tenant."))
        return cleaned


def _is_foreign(value: object, tenant_id: int | None) -> bool:
    """Whether a chosen row belongs to another tenant, or a chosen user is not a member of this one."""
    if isinstance(value, QuerySet):
        return any(_is_foreign(row, tenant_id) for row in value)
    if isinstance(value, get_user_model()):
        return not Membership.objects.filter(tenant_id=tenant_id or 0, user_id=value.pk).exists()
    return getattr(value, "tenant_id", None) not in (None, tenant_id)


class Scoped:
    """Permissions and choices by membership, for pages and inlines.

    `possible_actions`: the actions that the page allows to anyone, superusers included. `tenant_admins_may`: those of
    them that a tenant's admins and owners may use. `permission`: the one with which others may use these too.
    """

    permission = ""
    possible_actions: Collection[str] = ALL
    tenant_admins_may: Collection[str] = ALL

    def may(self, request: HttpRequest, action: str) -> bool:
        if action not in self.possible_actions:
            return False
        return is_operator(request) or (action in self.tenant_admins_may and bool(self.allowed_tenants(request)))

    def allowed_tenants(self, request: HttpRequest) -> frozenset[int]:
        """Return the ids of the tenants whose rows a user who is no operator may use here."""
        return permitted_of(request).tenants(self.permission)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, "view")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, "change")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, "delete")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", choices_of(request, db_field.related_model, self.permission))
        if db_field.name == "tenant" and not is_operator(request):
            # A row without a tenant belongs to the whole deployment.
            kwargs |= {"required": True, "empty_label": None}
        return _with_labels(super().formfield_for_foreignkey(db_field, request, **kwargs))  # type: ignore[misc]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", choices_of(request, db_field.related_model, self.permission))
        return _with_labels(super().formfield_for_manytomany(db_field, request, **kwargs))  # type: ignore[misc]


def _with_labels(field: Any) -> Any:
    """Let choices of assistants name their tenants, because many tenants have assistants of the same name."""
    if field is not None and field.queryset.model is Assistant:
        field.queryset = field.queryset.select_related("tenant")
        field.label_from_instance = assistant_label
    return field


class TenantScopedAdmin(Scoped, MergingAdmin, OverflowSafeChangeList, OwnTransactions):
    """The base of all pages of tenants' rows; `tenant_path` is the lookup from a row to its tenant.

    Users other than superusers see the rows of tenants that they are admin or owner of, or in which a role of theirs
    has the page's `permission`; another tenant's row looks like one that does not exist. Django's own permissions are
    not consulted. Every change is audited.
    """

    form = TenantForm
    tenant_path = "tenant"
    audited_by_services: Collection[str] = frozenset()
    # Django's hundred take twice the time.
    list_per_page = 50
    # django-unfold draws *Add* in the header of lists and forms of pages that say so, as its own do.
    show_add_link = True
    formfield_overrides = {models.JSONField: {"decoder": BoundedDecoder}}

    @property
    def media(self) -> forms.Media:
        found: forms.Media = super().media
        return found + forms.Media(css={"all": STYLES})

    def __init__(self, model: Any, admin_site: Any) -> None:
        super().__init__(model, admin_site)
        label = model._meta.app_label
        if label in optional_apps.labels() - {"assistant"}:
            # Django looks for templates by the label of the model's app alone.
            for page in PAGES:
                if getattr(self, f"{page}_template") is None:
                    own = f"{label}/{model._meta.model_name}"
                    names = [f"admin/{folder}/{page}.html" for folder in (own, label, "assistant")]
                    setattr(self, f"{page}_template", [*names, f"admin/{page}.html"])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        picked = picked_tenant_id(request) if is_list(request) else None
        if picked is not None:
            rows = rows.filter(**{self.tenant_path: picked})
        if is_operator(request):
            return rows
        return rows.filter(**{f"{self.tenant_path}__in": self.allowed_tenants(request)})

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with filters that are collapsed until one is set: many values would hide the list."""
        found: Any = super().get_changelist_instance(request)
        # Django's own asks to select a row to change, even where none can be.
        found.title = capfirst(self.opts.verbose_name_plural)
        for spec in found.filter_specs:
            if spec.template == "admin/filter.html":
                spec.template = "admin/assistant/filter.html"
        return found

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Title a row's page with the row's name, above the name of its model."""
        form = context["adminform"].form
        if form.is_bound and isinstance(form, MergingForm):
            form.restore_row()
        row = context.get("original")
        if row is not None and not context.get("is_popup"):
            context |= {"title": str(row), "subtitle": capfirst(self.opts.verbose_name)}
        return super().render_change_form(request, context, *args, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Preselect the tenant that was picked in the header for a new row."""
        picked = picked_tenant_id(request)
        return {**({} if picked is None else {"tenant": picked}), **super().get_changeform_initial_data(request)}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "view")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        widget = getattr(field, "widget", None)
        if isinstance(widget, RelatedFieldWidgetWrapper):
            # Related rows are edited on their own pages; the icons beside a choice are easily mistaken.
            widget.can_add_related = widget.can_change_related = False
            widget.can_delete_related = widget.can_view_related = False
        return field

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Let operators delete a tenant together with its history, although the history's pages allow no deletion."""
        found, counts, missing, protected = deleted_with(objs, request, self.admin_site)
        return (
            readable_tree(request, found),
            counts,
            set() if is_operator(request) else missing,
            [*protected, *self.reasons_to_keep(list(objs))],
        )

    def reasons_to_keep(self, rows: list[Any]) -> list[Any]:
        """Return sentences that say why rows cannot be deleted; the page of a deletion shows them and refuses it."""
        return []

    def row_or_404(self, request: HttpRequest, object_id: str, is_allowed: Callable[..., bool]) -> Any:
        """Return the row of a custom page. Raises `Http404` if it does not exist or may not be seen."""
        row = self.get_object(request, object_id)
        if row is None or not is_allowed(request, row):
            raise Http404(f"There is no such {self.opts.verbose_name}.")
        return row

    def tenant_of(self, row: Any) -> Tenant | None:
        """Return the tenant of a row; None for rows of the deployment."""
        value = row
        for step in self.tenant_path.split("__"):
            value = value if step == "pk" else getattr(value, step)
        return value if isinstance(value, Tenant) else None

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """Keep the changed values for the audit entry; Django's message names only the fields."""
        inlines = [one for formset in formsets or () for one in formset.forms if one.has_changed()]
        request._changed_values = changed_values([form, *inlines])  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, formsets, add)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._audit(request, obj, "add", message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._audit(request, obj, "change", message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            self._audit(request, row, "delete", None)
        return super().log_deletions(request, queryset)

    def _audit(self, request: HttpRequest, row: Any, verb: str, message: object) -> None:
        if verb in self.audited_by_services:
            return
        # The entry of a deleted tenant cannot refer to it.
        is_gone = verb == "delete" and isinstance(row, Tenant)
        details: dict[str, Any] = {"changes": message} if isinstance(message, list) and message else {}
        if values := getattr(request, "_changed_values", None):
            details["values"] = values
        audit_trail.record(
            actor=request.user,
            action=f"{row._meta.model_name}.{verb}",
            target=str(row),
            tenant=None if is_gone else self.tenant_of(row),
            details=details,
        )


class ReadOnlyAdmin(TenantScopedAdmin):
    """The base of read-only pages."""

    possible_actions = frozenset({"view"})
    tenant_admins_may = frozenset({"view"})
    actions = None


class TenantScopedInline(Scoped, MergingInline, admin.TabularInline[Any, Any]):
    """The base of inlines on the pages of tenants' rows."""

    extra = 0
