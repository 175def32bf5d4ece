"""The page on which an invited person joins a tenant, with their account or with a new one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from assistant.contrib.invitations import invitations
from assistant.contrib.invitations.models import Invitation
from assistant.services.signin.sign_in_page import sign_in_name
from assistant.services.tenancy.memberships import check_username

# The session's key with the text of the link, so that it stands neither in the address bar nor in what pages link to.
TOKEN = "assistant_invitation"  # noqa: S105 - the name of a key  # nosec B105
# The session's key with the page that a person who declines is led to.
FOLLOWING = "assistant_invitation_following"


class NewAccountForm(forms.Form):
    """A new account's name, which people sign in with, and password.

    `address` is the invited one, if it is known to be theirs: who signs in with an address has this one.
    """

    username = forms.CharField()
    password = forms.CharField(label=_("Password"), strip=False, widget=forms.PasswordInput, max_length=4096)

    def __init__(self, *args: Any, address: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = sign_in_name()
        self.fields["username"] = forms.CharField(
            label=name.label,
            max_length=name.max_length,
            initial=address if name.is_email else "",
            disabled=bool(address) and name.is_email,
        )

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        check_username(name)
        return name

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password)
        return password


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest) -> HttpResponse:
    """Show an invitation, and join its tenant. The link's text is moved from the address into the session."""
    if "token" in request.GET:
        request.session[TOKEN] = request.GET["token"][:200]
        return HttpResponseRedirect(reverse("assistant:invitation"))
    found = invitations.invitation_of(str(request.session.get(TOKEN, "")))
    if found is None:
        return render(request, "assistant/invitations/gone.html", status=404)
    if request.user.is_authenticated:
        return _as_user(request, found)
    if invitations.account_of(found) is not None:
        return _show(request, found, sign_in=_sign_in(reverse("assistant:invitation")))
    return _as_new(request, found)


def ask_about(request: HttpRequest, found: Invitation, *, following: str) -> None:
    """Make the page `invitation` show an invitation, and lead to `following`, a path of this site, who declines it."""
    request.session[TOKEN] = invitations.token_of(found)
    request.session[FOLLOWING] = following


def _as_user(request: HttpRequest, found: Invitation) -> HttpResponse:
    if not invitations.is_for(found, request.user):
        return _show(request, found, is_other=True)
    if request.method != "POST":
        return _show(request, found, may_join=True, holder=invitations.holder_of(found))
    is_declined = "decline" in request.POST
    try:
        if is_declined:
            invitations.decline(invitation=found, user=request.user)
        else:
            invitations.accept(invitation=found, user=request.user)
    except invitations.InvitationRefused as exc:
        return _show(request, found, problem=str(exc))
    del request.session[TOKEN]
    following = request.session.pop(FOLLOWING, "") or reverse("assistant:home")
    return HttpResponseRedirect(following if is_declined else reverse("assistant:chat", args=[found.tenant.slug]))


def _as_new(request: HttpRequest, found: Invitation) -> HttpResponse:
    form = NewAccountForm(request.POST or None, address=found.email if found.is_sent else "")
    if request.method != "POST" or not form.is_valid():
        return _show(request, found, form=form)
    try:
        invitations.accept_as_new(invitation=found, **form.cleaned_data)
    except invitations.InvitationRefused as exc:
        return _show(request, found, form=form, problem=str(exc))
    del request.session[TOKEN]
    # They sign in as everybody does: a project may ask for more than a password.
    return HttpResponseRedirect(_sign_in(reverse("assistant:chat", args=[found.tenant.slug])))


def _sign_in(following: str) -> str:
    return f"{reverse('assistant:login')}?{urlencode({'next': following})}"


def _show(request: HttpRequest, found: Invitation, **context: Any) -> HttpResponse:
    return render(request, "assistant/invitations/invitation.html", {"invitation": found, **context})
