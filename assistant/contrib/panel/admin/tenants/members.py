"""The members of tenants, with what they have used of their limits."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from assistant.admin.members import MembershipAdmin
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.services.quota_report import use_of_member
from assistant.models import Membership


@replace(Membership)
class MemberPages(MembershipAdmin):
    """The members' pages."""

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        names = super().get_fields(request, obj)
        return names if obj is None else (*names[:-1], "used", names[-1])

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        names = super().get_readonly_fields(request, obj)
        return names if obj is None else (*names, "used")

    @admin.display(description=gettext_lazy("used of their limits"))
    def used(self, membership: Membership) -> SafeString:
        use = use_of_member(tenant=membership.tenant, user_id=membership.user_id)
        return render_to_string("admin/assistant/tenant/use.html", {"use": use})
