"""Where a member is signed in, on their page in the control panel, and the buttons that sign them out there."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import NoReverseMatch
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import administered, is_operator, tenants_of
from assistant.contrib.browser_sessions.listing import sessions_of_person, sign_person_out
from assistant.contrib.browser_sessions.stores import can_end_sessions
from assistant.contrib.panel.admin.base.rooms import AddedPage, add_page
from assistant.contrib.panel.admin.tenants.member_sections import add_member_section
from assistant.models import Membership
from assistant.services.tenancy.memberships import may_grant
from assistant.services.tenancy.row_scope import all_tenants

URL_NAME = "sign_member_out"


def may_end(request: HttpRequest, member: Membership) -> bool:
    """Return whether the user may see where a member is signed in, and sign them out.

    A session is its person's in all tenants: an admin may end those of people who are in no other tenant and whose role
    they may give, so an owner's only owners, and operators may end all.
    """
    if not can_end_sessions() or member.role == Membership.Role.END_USER:
        return False
    if is_operator(request):
        return True
    if member.tenant_id not in administered(request) or member.user.is_superuser:
        return False
    if not may_grant(actor=request.user, tenant=member.tenant, role=member.role):
        return False
    with all_tenants():
        return not Membership.objects.filter(user=member.user_id).exclude(tenant=member.tenant_id).exists()


def _section(request: HttpRequest, member: Membership) -> SafeString | str:
    if not may_end(request, member):
        return ""
    try:
        address = reverse(f"admin:{URL_NAME}")
    except NoReverseMatch:  # in a project's own admin, which has the pages of models alone
        address = ""
    context = {"whose": member, "sessions": sessions_of_person(member.user), "address": address}
    return render_to_string("admin/assistant/browser_sessions/section.html", context, request)


def sign_out_view(request: HttpRequest, _site: AdminSite) -> HttpResponse:
    """End the session `session` of the member `member`, or all of theirs without one. Raises `Http404` for others."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    pk = request.POST.get("member", "")
    session = request.POST.get("session", "")
    if not all(one.isascii() and one.isdigit() and len(one) < 19 for one in (pk, session or "0")):
        raise Http404("There is no such member.")
    rows = Membership.objects.filter(tenant__in=tenants_of(request)).select_related("user", "tenant")
    member = rows.filter(pk=int(pk)).first()
    if member is None or not may_end(request, member):
        raise Http404("There is no such member.")
    count = sign_person_out(member.user, int(session) if session else None, actor=request.user, tenant=member.tenant)
    if count:
        text = ngettext("%(count)d session is signed out.", "%(count)d sessions are signed out.", count)
        messages.success(request, text % {"count": count})
    else:
        messages.info(request, _("It was signed out already."))
    return HttpResponseRedirect(reverse("admin:assistant_membership_change", args=[member.pk]))


add_member_section(_section)
# Reached from the section alone: no room lists it.
add_page(
    AddedPage(
        room="tenants",
        name=gettext_lazy("Sign out"),
        route="sign-member-out/",
        url_name=URL_NAME,
        view=sign_out_view,
        may_see=lambda _request: False,
    )
)
