"""Invitations on the tab with a tenant's people: making, sending again, copying the link, revoking."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.invitations import invitations
from assistant.contrib.invitations.models import Invitation
from assistant.contrib.panel.admin.tenants.inviting import Inviting, invite_with
from assistant.contrib.panel.admin.tenants.tabs import PEOPLE, tenant_of_tab
from assistant.contrib.panel.reports.tenant_page import LISTED
from assistant.models import Membership, Tenant
from assistant.services.tenancy.mail import is_mail_configured
from assistant.services.tenancy.memberships import may_grant

Role = Membership.Role


@dataclass(frozen=True, slots=True)
class ShownInvitation:
    """An open invitation. `link` is there where e-mail is not configured; `may_change`: the user may give its role."""

    row: Invitation
    may_change: bool
    link: str


class InvitationForm(forms.Form):
    """Whom to invite, and as what."""

    email = forms.EmailField(label=_("E-mail address"), max_length=254)
    role = forms.ChoiceField(label=_("Role"))

    def __init__(self, data: Any, *, roles: Collection[str]) -> None:
        super().__init__(data)
        role: Any = self.fields["role"]
        role.choices = [(value, label) for value, label in Role.choices if value in roles]


def grantable_roles(request: HttpRequest, tenant: Tenant) -> list[str]:
    """Return the roles that the user may give in a tenant, the weakest first."""
    if is_operator(request):
        return [Role.MEMBER, Role.ADMIN, Role.OWNER]
    actor = request.user
    return [one for one in (Role.MEMBER, Role.ADMIN, Role.OWNER) if may_grant(actor=actor, tenant=tenant, role=one)]


def section_of(request: HttpRequest, tenant: Tenant) -> dict[str, Any]:
    """Return what the section below a tenant's people shows."""
    roles = grantable_roles(request, tenant)
    may_invite = invitations.are_on() and bool(roles) and tenant.external_id is None
    sent = request.POST if request.method == "POST" else None
    return {
        "invitations": shown_invitations(request, tenant, roles),
        "sends_mail": is_mail_configured(),
        "now": timezone.now(),
        "form": InvitationForm(sent, roles=roles) if may_invite else None,
    }


def shown_invitations(request: HttpRequest, tenant: Tenant, roles: Collection[str]) -> list[ShownInvitation]:
    """Return the open invitations of a tenant as its page shows them to a user who may give these roles."""
    shows_link = not is_mail_configured()
    return [
        # The link alone gives the role, so only users who may give the role see it.
        ShownInvitation(row, row.role in roles, link_of(request, row) if shows_link and row.role in roles else "")
        for row in _open_invitations(tenant)
    ]


def _open_invitations(tenant: Tenant) -> QuerySet[Invitation]:
    """Return the newest invitations that were neither accepted nor revoked."""
    rows = Invitation.objects.filter(tenant=tenant, accepted_at=None, revoked_at=None)
    return rows.select_related("invited_by").order_by("-pk")[:LISTED]


def link_of(request: HttpRequest, invitation: Invitation) -> str:
    """Return the link that accepts an invitation."""
    query = urlencode({"token": invitations.token_of(invitation)})
    return request.build_absolute_uri(f"{reverse('assistant:invitation')}?{query}")


def invite_person(request: HttpRequest, tenant: Tenant, form: InvitationForm) -> str:
    """Invite a person and send the link; return what was done. Raises `InvitationRefused` and `Refused`."""
    values = form.cleaned_data
    made = invitations.invite(tenant=tenant, email=values["email"], role=values["role"], actor=request.user)
    return send_invitation(request, made)


def send_invitation(request: HttpRequest, invitation: Invitation) -> str:
    """Send the link of an invitation, if that is possible; return what was done, or what is to be done."""
    link, email = link_of(request, invitation), {"email": invitation.email}
    if invitations.send(invitation=invitation, link=link, actor=request.user):
        return gettext("The invitation was sent to %(email)s.") % email
    if is_mail_configured():
        return gettext("The invitation of %(email)s is stored, but could not be sent: try again later.") % email
    return gettext("Copy the link below, and give it to %(email)s: this deployment sends no e-mail.") % email


def invitation_urls(admin: Any) -> list[URLPattern]:
    """Return the addresses that change one invitation of a tenant."""
    found = []
    for name, act in (("renew", _renew), ("revoke", _revoke)):
        view = admin.admin_site.admin_view(require_POST(_view(admin, act)))
        address = f"<path:object_id>/people/<int:invitation>/{name}/"
        found.append(path(address, view, name=f"assistant_tenant_invitation_{name}"))
    return found


def _view(admin: Any, act: Callable[[HttpRequest, Invitation], str]) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, object_id: str, invitation: int) -> HttpResponse:
        tenant = tenant_of_tab(request, object_id, PEOPLE)
        row = Invitation.objects.filter(tenant=tenant, pk=invitation).select_related("tenant").first()
        if row is None:
            raise Http404("There is no such invitation.")
        try:
            admin.message_user(request, act(request, row), messages.SUCCESS)
        except invitations.InvitationRefused as exc:
            admin.message_user(request, str(exc), messages.ERROR)
        return HttpResponseRedirect(reverse(PEOPLE.url_name, args=[tenant.pk]))

    return view


def _renew(request: HttpRequest, invitation: Invitation) -> str:
    return send_invitation(request, invitations.renew(invitation=invitation, actor=request.user))


def _revoke(request: HttpRequest, invitation: Invitation) -> str:
    invitations.revoke(invitation=invitation, actor=request.user)
    return gettext("The invitation of %(email)s is revoked: its link no longer works.") % {"email": invitation.email}


def check_owner(email: str) -> None:
    """Raise `ValidationError` if the owner of a new tenant cannot be invited to an address."""
    if not invitations.are_on():
        raise ValidationError(_("Nobody has this user name, and invitations are switched off."))
    if not InvitationForm({"email": email, "role": Role.OWNER}, roles=[Role.OWNER]).is_valid():
        raise ValidationError(_("This is neither a user name nor an e-mail address."))


def invite_owner(request: HttpRequest, tenant: Tenant, email: str) -> Callable[[], str]:
    """Invite the owner of a new tenant; return what sends the link. Raises `InvitationRefused` and `Refused`."""
    made = invitations.invite(tenant=tenant, email=email, role=Role.OWNER, actor=request.user)
    # After the tenant's transaction: a mail server may be slow.
    return lambda: send_invitation(request, made)


invite_with(
    Inviting(
        template="admin/assistant/tenant/invitations.html",
        context=section_of,
        save=invite_person,
        urls=invitation_urls,
        check_owner=check_owner,
        invite_owner=invite_owner,
    )
)
