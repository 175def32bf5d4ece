"""Tenants and their members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.password_validation import validate_password
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import link_to_list, user_column, username
from assistant.admin.base.tenant_scope import Scoped, TenantForm, TenantScopedAdmin, is_operator
from assistant.models import Assistant, Membership, Retention, Tenant, TenantLimits
from assistant.models.limits import OF_END_USER, OF_MEMBER, OF_TENANT
from assistant.models.retention import KINDS
from assistant.services.limits.quota_ledger import reset_use
from assistant.services.limits.quota_report import use_of_member, use_of_members, use_of_tenant
from assistant.services.privacy import leaving
from assistant.services.privacy.retention import record_periods
from assistant.services.tenancy import memberships


class RetentionInline(Scoped, admin.StackedInline[Any, Any]):
    """The tenant's retention periods."""

    model = Retention
    fields = KINDS
    verbose_name_plural = "retention"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Empty periods have the same effect as no row.
        return False


class LimitsInline(Scoped, admin.StackedInline[Any, Any]):
    """The tenant's limits. Only operators set the limits for all members together."""

    model = TenantLimits
    fieldsets = (
        ("All members together", {"fields": OF_TENANT}),
        ("Each member", {"fields": OF_MEMBER}),
        ("Each end user", {"fields": OF_END_USER}),
    )
    verbose_name_plural = "limits"

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if is_operator(request) else OF_TENANT

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Empty limits have the same effect as no row.
        return False


@admin.register(Tenant)
class TenantAdmin(TenantScopedAdmin):
    """Operators create tenants; a tenant's admin edits its name, time zone and default provider."""

    tenant_path = "pk"
    tenant_admins_may = frozenset({"view", "change"})
    list_display = ("name", "slug", "timezone", "is_active", "member_count", "assistant_count", "switchboard")
    list_filter = ("is_active", "timezone")
    search_fields = ("slug", "name")
    ordering = ("slug",)
    fields = (
        "name",
        "slug",
        "timezone",
        "is_active",
        "default_provider",
        "ends_runs_on_tool_failure",
        "after_untrusted",
        "trusts_documents",
        "switchboard",
        "used",
        "created_at",
    )
    readonly_fields = ("switchboard", "used", "created_at")
    inlines = (LimitsInline, RetentionInline)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        counted: QuerySet[Tenant] = (
            super()
            .get_queryset(request)
            .annotate(
                members=Count("memberships", filter=~Q(memberships__role=Membership.Role.END_USER), distinct=True),
                number_of_assistants=Count("assistants", distinct=True),
            )
        )
        return counted

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Forms that leave out the rule for text from outside keep it as it is."""
        field = super().formfield_for_choice_field(db_field, request, **kwargs)
        if field is not None and db_field.name == "after_untrusted":
            field.required = False
        return field

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is not None and obj.external_id is not None:
            return ("name", "slug", "timezone", "is_active", *self.readonly_fields)
        return self.readonly_fields if is_operator(request) else ("slug", "is_active", *self.readonly_fields)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A tenant synchronised from the project's own is deleted with that one, not here."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.external_id is None)

    def tenant_of(self, row: Tenant) -> Tenant:
        return row

    @admin.display(description="members", ordering="members")
    def member_count(self, tenant: Any) -> SafeString:
        return link_to_list(Membership, tenant.members, tenant__id__exact=tenant.pk)

    @admin.display(description="assistants", ordering="number_of_assistants")
    def assistant_count(self, tenant: Any) -> SafeString:
        return link_to_list(Assistant, tenant.number_of_assistants, tenant__id__exact=tenant.pk)

    @admin.display(description="tools")
    def switchboard(self, tenant: Tenant) -> SafeString | str:
        if tenant._state.adding:
            return "—"
        return format_html('<a href="{}">Switchboard</a>', reverse("admin:switchboard_of_tenant", args=[tenant.slug]))

    @admin.display(description="used of its limits")
    def used(self, tenant: Tenant) -> SafeString | str:
        if tenant._state.adding:
            return "—"
        context = {"tenant": tenant, "use": use_of_tenant(tenant=tenant), "members": use_of_members(tenant=tenant)}
        return render_to_string("admin/assistant/tenant/use.html", context)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        super().save_formset(request, form, formset, change)
        if formset.model is TenantLimits and formset.has_changed():
            reset_use(tenant_id=form.instance.pk)
        if formset.model is Retention and formset.has_changed():
            record_periods(actor=request.user, periods=form.instance.retention)


class MembershipForm(TenantForm):
    """Adds a new user with a password or, for operators, an existing user; afterwards only the role can change."""

    actor: Any = None
    username = forms.CharField(
        max_length=254, help_text="A new user name; operators can also enter that of an existing user."
    )
    password = forms.CharField(
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Only for a new user. They change it after signing in.",
    )

    class Meta:
        model = Membership
        fields = ("tenant", "role")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        tenant, role = cleaned.get("tenant") or getattr(self.instance, "tenant", None), cleaned.get("role")
        if tenant is None or role is None:
            return cleaned
        if role == Membership.Role.END_USER:
            self.add_error("role", "End users are created by tokens only.")
        if not memberships.may_grant(actor=self.actor, tenant=tenant, role=role):
            self.add_error("role", "Only an owner can appoint owners.")
        if self.instance.pk is None and tenant.external_id is not None:
            self.add_error("tenant", "The members of this tenant are those of the project's own tenant.")
        elif self.instance.pk is None and "username" in cleaned:
            self._check_user(tenant, cleaned["username"], cleaned.get("password") or "")
        return cleaned

    def _check_user(self, tenant: Tenant, username: str, password: str) -> None:
        user = memberships.find_user(username)
        if user is None and not password:
            self.add_error("password", "Nobody has this username yet. A new user needs a password.")
        elif user is None:
            self._check_with(memberships.check_username, "username", username)
            self._check_with(validate_password, "password", password)
        elif not getattr(self.actor, "is_superuser", False):
            # Users keep their Django permissions in every tenant, so a tenant's admin may not add arbitrary users.
            self.add_error("username", "This username is taken. Only an operator can add an existing user.")
        elif password:
            self.add_error("password", "This user exists already and keeps their password. Leave this empty.")
        elif Membership.objects.filter(tenant=tenant, user=user).exists():
            self.add_error("username", "This user is a member already.")

    def _check_with(self, check: Callable[[str], object], field: str, value: str) -> None:
        try:
            check(value)
        except forms.ValidationError as exc:
            self.add_error(field, exc)


@admin.register(Membership)
class MembershipAdmin(TenantScopedAdmin):
    """The members of tenants; only operators edit the users themselves."""

    form = MembershipForm
    list_display = ("user", "tenant", "role", "created_at")
    list_filter = (TENANT, "role")
    search_fields = (username("user"), "tenant__slug")
    list_select_related = ("user", "tenant")
    member = user_column("user")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """Leave out end users, who have a page of their own."""
        return super().get_queryset(request).exclude(role=Membership.Role.END_USER)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return ("tenant", "username", "password", "role")
        return ("tenant", "member", "role", "used", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("member", "used", "created_at")

    @admin.display(description="used of their limits")
    def used(self, membership: Membership) -> SafeString:
        use = use_of_member(tenant=membership.tenant, user_id=membership.user_id)
        return render_to_string("admin/assistant/tenant/use.html", {"use": use})

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.actor = request.user
        if obj is not None:
            for name in ("username", "password"):
                form.base_fields.pop(name, None)
                form.declared_fields.pop(name, None)
        return form

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and self._may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and self._may_touch(request, obj)

    def _may_touch(self, request: HttpRequest, membership: Membership | None) -> bool:
        """Only owners and operators change an owner's membership; nobody changes one synchronised from the project."""
        if membership is not None and membership.tenant.external_id is not None:
            return False
        if membership is None or membership.role != Membership.Role.OWNER:
            return True
        return memberships.may_grant(actor=request.user, tenant=membership.tenant, role=membership.role)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            memberships.set_role(membership=obj, role=obj.role)
            return
        made = memberships.add_member(
            tenant=obj.tenant,
            username=form.cleaned_data["username"],
            role=obj.role,
            password=form.cleaned_data["password"],
        )
        obj.pk, obj.user, obj.created_at = made.pk, made.user, made.created_at
        obj._state.adding = False

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_queryset(request, Membership.objects.filter(pk=obj.pk, tenant_id=obj.tenant_id))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        leaving.end_memberships(actor=request.user, memberships=queryset)
