"""The second factors on a user's page of the control panel, which an operator can reset."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.panel.admin.tenants.users import OperatorsUserAdmin
from assistant.contrib.sign_in.services.factors import FactorLine, list_factors, reset_second_factor
from assistant.contrib.sign_in.services.policy import is_on


class SecondFactors(ModelAdmin[User]):
    """Adds the user's second factors to the page of users, and a button that removes them."""

    change_form_template = "admin/assistant/sign_in/user.html"

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        own = super().get_fieldsets(request, obj)
        return own if obj is None or not is_on() else (*own, (_("Second factor"), {"fields": ("second_factors",)}))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        own = super().get_readonly_fields(request, obj)
        return own if obj is None or not is_on() else (*own, "second_factors")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        context = {**(extra_context or {}), "has_second_factor": is_on()}
        return super().change_view(request, object_id, form_url, context)

    @admin.display(description=_("factors"))
    def second_factors(self, user: User) -> str:
        lines = format_html_join("", "<li>{}</li>", ((_described(line),) for line in list_factors(user)))
        return format_html("<ul>{}</ul>", lines) if lines else "—"

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.reset_view))
        return [
            path("<path:object_id>/second-factor/reset/", view, name="assistant_second_factor_reset"),
            *super().get_urls(),
        ]

    def reset_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Remove the user's factors and sign them out."""
        user = self.get_object(request, object_id) if is_operator(request) and is_on() else None
        if user is None:
            raise Http404
        count = reset_second_factor(user=user, actor=request.user)
        told = ngettext("%(count)d factor was removed.", "%(count)d factors were removed.", count) % {"count": count}
        self.message_user(request, told, messages.SUCCESS)
        return redirect("admin:auth_user_change", user.pk)


def _described(line: FactorLine) -> str:
    name = f"{line.kind}: {line.name}" if line.name else line.kind
    added = _("set up %(day)s") % {"day": date_format(line.added_at)}
    used = _("last used %(day)s") % {"day": date_format(line.used_at)} if line.used_at else _("never used")
    return f"{name} ({added}, {used})"


class UserAdminWithFactors(SecondFactors, OperatorsUserAdmin):
    """The page of a user with their second factors."""


# Not in place of a project's own page.
if type(admin.site._registry.get(User)) is OperatorsUserAdmin:
    admin.site.unregister(User)
    admin.site.register(User, UserAdminWithFactors)
