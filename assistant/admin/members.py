"""The members of tenants, and the roles that the user may give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import user_column, username
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.admin.base.visible_tenants import administered, is_operator
from assistant.models import Membership, Tenant
from assistant.services.privacy import leaving
from assistant.services.tenancy import memberships


def last_one(role: str) -> str:
    """Return the sentence that says why the last holder of an administrator's role cannot be removed."""
    if role == Membership.Role.OWNER:
        return gettext("This is the last owner: make somebody else an owner first.")
    return gettext("Nobody else administers this tenant: make somebody else an admin or owner first.")


def roles_for(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the roles that the user may grant in some tenant. End users are created by tokens only."""
    hidden = {Membership.Role.END_USER.value}
    if not is_operator(request):
        mine = Membership.objects.filter(tenant__in=administered(request), user_id=request.user.pk or 0)
        owned = mine.filter(role=Membership.Role.OWNER)
        hidden |= set() if owned.exists() else {Membership.Role.OWNER.value}
        hidden |= set() if administered(request) else {Membership.Role.ADMIN.value}
    return [(value, str(label)) for value, label in Membership.Role.choices if value not in hidden]


class MembershipForm(TenantForm):
    """Adds a new user with a password or, for operators, an existing user; afterwards only the role can change."""

    actor: Any = None
    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=254,
        help_text=gettext_lazy("A new user name; operators can also enter that of an existing user."),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy("Only for a new user. They change it after signing in."),
    )

    class Meta:
        model = Membership
        fields: tuple[str, ...] = ("tenant", "role")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        tenant, role = cleaned.get("tenant") or getattr(self.instance, "tenant", None), cleaned.get("role")
        if tenant is None or role is None:
            return cleaned
        if role == Membership.Role.END_USER:
            self.add_error("role", gettext("End users are created by tokens only."))
        if not memberships.may_grant(actor=self.actor, tenant=tenant, role=role):
            owners = gettext("Only an owner can appoint owners.")
            self.add_error("role", owners if role == Membership.Role.OWNER else gettext("You may not give this role."))
        if self.instance.pk is not None and (
            left := memberships.role_left_empty(tenant=tenant, leaving={self.instance.pk}, role=role)
        ):
            self.add_error("role", last_one(left))
        if self.instance.pk is None and tenant.external_id is not None:
            self.add_error("tenant", gettext("The members of this tenant are those of the project's own tenant."))
        elif self.instance.pk is None and "username" in cleaned:
            self._check_user(tenant, cleaned["username"], cleaned.get("password") or "")
        return cleaned

    def _check_user(self, tenant: Tenant, username: str, password: str) -> None:
        user = memberships.find_user(username)
        if user is None and not password:
            self.add_error("password", gettext("Nobody has this username yet. A new user needs a password."))
        elif user is None:
            self._check_with(memberships.check_username, "username", username)
            self._check_with(validate_password, "password", password)
        elif not getattr(self.actor, "is_superuser", False):
            # Users keep their Django permissions in every tenant, so a tenant's admin may not add arbitrary users.
            self.add_error("username", gettext("This username is taken. Only an operator can add an existing user."))
        elif password:
            self.add_error("password", gettext("This user exists already and keeps their password. Leave this empty."))
        elif Membership.objects.filter(tenant=tenant, user=user).exists():
            self.add_error("username", gettext("This user is a member already."))

    def _check_with(self, check: Callable[[str], object], field: str, value: str) -> None:
        try:
            check(value)
        except forms.ValidationError as exc:
            self.add_error(field, exc)


class MembershipAdmin(TenantScopedAdmin):
    """The members of tenants; only operators edit the users themselves."""

    permission = "people"
    form = MembershipForm
    list_display = ("user", "tenant", "role", "created_at")
    list_filter: ClassVar[Any] = (TENANT, "role")
    search_fields = (username("user"), "tenant__slug")
    list_select_related = ("user", "tenant")
    member = user_column("user")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """Leave out end users, who have a page of their own."""
        return super().get_queryset(request).exclude(role=Membership.Role.END_USER)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return ("tenant", "username", "password", "role")
        return ("tenant", "member", "role", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return ()
        # The project's own memberships say what role the members of its tenants have.
        synced = ("role",) if obj.tenant.external_id is not None else ()
        return (*synced, "member", "created_at")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.actor = request.user
        if "role" in form.base_fields:
            form.base_fields["role"].choices = roles_for(request)
        if obj is not None:
            for name in ("username", "password"):
                form.base_fields.pop(name, None)
                form.declared_fields.pop(name, None)
        return form

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and self._may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody ends a membership that is synchronised from the project."""
        if obj is not None and obj.tenant.external_id is not None:
            return False
        return super().has_delete_permission(request, obj) and self._may_touch(request, obj)

    def _may_touch(self, request: HttpRequest, membership: Membership | None) -> bool:
        """Only those who may give a member's role change the membership: an owner's only owners and operators."""
        if membership is None:
            return True
        return memberships.may_grant(actor=request.user, tenant=membership.tenant, role=membership.role)

    def reasons_to_keep(self, rows: list[Any]) -> list[Any]:
        """Name the tenants that would lose their last owner or admin."""
        reasons = []
        for tenant in {row.tenant for row in rows}:
            leaving = {row.pk for row in rows if row.tenant_id == tenant.pk}
            if left := memberships.role_left_empty(tenant=tenant, leaving=leaving):
                reasons.append(f"{tenant}: {last_one(left)}")
        return reasons

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            # Of a tenant of the project's own the role is not in the form.
            if "role" in form.cleaned_data:
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
