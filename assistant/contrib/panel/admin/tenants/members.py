"""The members of tenants, with their custom roles, and the page of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from assistant.admin.members import MembershipAdmin, MembershipForm
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.admin.lists.list_parts import Total
from assistant.contrib.panel.admin.lists.states import active_or_off
from assistant.contrib.panel.admin.tenants.member_sections import sections_of
from assistant.contrib.panel.admin.tenants.roles import sentence_of_lacking
from assistant.contrib.panel.services import custom_roles
from assistant.models import CustomRole, Membership


class MemberForm(MembershipForm):
    """Also gives and takes custom roles."""

    new_roles = forms.MultipleChoiceField(
        label=gettext_lazy("A new role, for"),
        required=False,
        widget=forms.CheckboxSelectMultiple(),
        help_text=gettext_lazy("Makes a role that allows just this, and gives it to the member."),
    )

    class Meta(MembershipForm.Meta):
        fields = ("tenant", "role", "custom_roles")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.instance.pk is not None and "custom_roles" in cleaned:
            roles = list(cleaned["custom_roles"])
            names = custom_roles.lacking_for_change(actor=self.actor, membership=self.instance, roles=roles)
            if names:
                self.add_error("custom_roles", sentence_of_lacking(names))
        return cleaned


@replace(Membership)
class MemberPages(MembershipAdmin):
    """The members' pages."""

    form = MemberForm
    list_display: tuple[str, ...] = ("user", "tenant", "role", "standing", "created_at")  # type: ignore[assignment]
    change_form_template = "admin/assistant/membership/change_form.html"
    list_totals: ClassVar[Mapping[str, Total]] = {
        "standing": Total(gettext_lazy("Active"), Count("pk", filter=Q(user__is_active=True)))
    }
    list_filter = (*MembershipAdmin.list_filter, ("custom_roles", RelatedOnlyFieldListFilter))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        names = super().get_fields(request, obj)
        if obj is None:
            return names
        has_roles = CustomRole.objects.filter(tenant=obj.tenant).exists()
        has_new = bool(custom_roles.may_make_role(actor=request.user, tenant=obj.tenant))
        roles = (*(("custom_roles",) if has_roles else ()), *(("new_roles",) if has_new else ()))
        return (*names[:-1], *roles, names[-1])

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show below the form who the member is here: use, limits, conversations, refusals, keys and changes."""
        member = context.get("original")
        if member is not None and not context.get("is_popup"):
            context["member"] = sections_of(request, member)
        return super().render_change_form(request, context, *args, **kwargs)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        if "custom_roles" in form.base_fields and obj is not None:
            roles: Any = form.base_fields["custom_roles"]
            roles.queryset = CustomRole.objects.filter(tenant=obj.tenant).order_by("name")
        if "new_roles" in form.base_fields and obj is not None:
            form.base_fields["new_roles"].choices = [
                (name, f"{label}: {custom_roles.help_of(name)}")
                for name, label in custom_roles.may_make_role(actor=request.user, tenant=obj.tenant)
            ]
        return form

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["widget"] = forms.CheckboxSelectMultiple()
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Store the custom roles by the service, which checks and records them."""
        member = form.instance
        given = form.cleaned_data
        new = [
            custom_roles.make_role(tenant=member.tenant, permission=name, actor=request.user)
            for name in given.get("new_roles", ())
        ]
        if new or "custom_roles" in given:
            roles = [*given.get("custom_roles", ()), *new]
            custom_roles.set_custom_roles(membership=member, roles=roles, actor=request.user)

    @admin.display(description=gettext_lazy("state"), ordering="user__is_active")
    def standing(self, membership: Membership) -> SafeString:
        """Return whether the person may sign in."""
        return active_or_off(membership.user.is_active)
