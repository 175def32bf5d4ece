"""Decides which account a sign-in by OpenID Connect uses, and who gets a new one."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.utils import user_email
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from assistant.contrib.sign_in.pages.oidc import provider_id
from assistant.contrib.sign_in.services.inviting_apps import inviting_apps
from assistant.contrib.sign_in.services.joining import (
    SeveralAccounts,
    account_with,
    is_oidc_on,
    join,
    may_join,
)
from assistant.services.tenancy import audit_trail

logger = logging.getLogger(__name__)

UNVERIFIED = _("The provider does not say that your e-mail address is verified.")
NOT_INVITED = _("Your e-mail address belongs to no organisation here. Ask an administrator of yours to invite you.")
HAS_PASSWORD = _(
    "There is an account with this e-mail address. Sign in to it with its password, and connect it on the page of your "
    "account."
)
NOT_CLEAR = _("The account with this e-mail address cannot be used so. Ask an operator of this site.")
FAILED = _("The sign-in did not succeed. Try it again.")


class OidcAccounts(DefaultSocialAccountAdapter):
    """The answers to django-allauth's questions. Nobody is signed in, linked or signed up by an unverified address."""

    def list_apps(self, request: HttpRequest, provider: str | None = None, client_id: str | None = None) -> list[Any]:
        """Return the provider of the settings, and none that a row of the database may name."""
        if not is_oidc_on() or provider not in (None, "openid_connect", provider_id()):
            return []
        return [
            SocialApp(
                provider="openid_connect",
                provider_id=provider_id(),
                name=settings.ASSISTANT_OIDC_NAME,
                client_id=settings.ASSISTANT_OIDC_CLIENT_ID,
                secret=settings.ASSISTANT_OIDC_CLIENT_SECRET,
                settings={"server_url": settings.ASSISTANT_OIDC_ISSUER.rstrip("/"), "oauth_pkce_enabled": True},
            )
        ]

    def authenticate_by_email(self, sociallogin: Any) -> None:
        """Leave it to `pre_social_login`: django-allauth would delete the account's password."""
        return

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Link somebody new to their account, or refuse them. Raises `ImmediateHttpResponse`."""
        if sociallogin.state.get("process") == "connect":
            return
        if sociallogin.is_existing:
            _ask_about_invitation(request, sociallogin, sociallogin.user)
            return
        email = verified_email(sociallogin)
        if not email:
            raise refused(request, UNVERIFIED)
        try:
            account = account_with(email)
        except SeveralAccounts:
            raise refused(request, NOT_CLEAR) from None
        if account is None:
            if not may_join(email):
                raise refused(request, NOT_INVITED)
            _ask_about_invitation(request, sociallogin, None)
            return
        if not account.is_proven:
            raise refused(request, HAS_PASSWORD)
        with transaction.atomic():
            sociallogin.connect(request, account.user)
            audit_trail.record(actor=account.user, action="signin.connected", target=account.user.get_username())
            join(user=account.user, email=email, name=_name_of(sociallogin))
        _ask_about_invitation(request, sociallogin, account.user)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Return whether somebody without an account gets one: with a verified address that belongs to a tenant."""
        email = verified_email(sociallogin)
        return bool(email) and may_join(email)

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        """Make the account, without a password, and its memberships."""
        email = verified_email(sociallogin)
        user_email(sociallogin.user, email)
        user = super().save_user(request, sociallogin, form)
        join(user=user, email=email, name=_name_of(sociallogin))
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("assistant:account")

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: Any = None,
    ) -> None:
        """Answer in our page. Raises `ImmediateHttpResponse`."""
        if getattr(error, "value", error) == "cancelled":
            raise ImmediateHttpResponse(redirect("assistant:login"))
        # Never with the exception's text, which may quote an answer that holds tokens.
        logger.warning("A sign-in by OpenID Connect failed (%s)", type(exception).__name__)
        raise refused(request, FAILED, status=401)


def verified_email(sociallogin: Any) -> str:
    """Return the address that the provider says it has verified, or "", as for one that is not ASCII."""
    claims = sociallogin.account.extra_data
    email = claims.get("email", "")
    if not isinstance(email, str) or len(email) > 254 or claims.get("email_verified") not in (True, "true"):
        return ""
    if not email.isascii():  # databases may treat letters that look alike as equal (CVE-2019-19844)
        return ""
    try:
        validate_email(email)
    except ValidationError:
        return ""
    return email


def _ask_about_invitation(request: HttpRequest, sociallogin: Any, user: Any) -> None:
    """Lead somebody who is invited from the sign-in to the page that shows the tenant, and asks."""
    email = verified_email(sociallogin)
    following = str(sociallogin.state.get("next") or "")
    for app in inviting_apps() if email else ():
        if (page := app.page_that_asks(request, email=email, user=user, following=following)) is not None:
            sociallogin.state["next"] = page
            return


def _name_of(sociallogin: Any) -> str:
    name = sociallogin.account.extra_data.get("name", "")
    return name.strip() if isinstance(name, str) else ""


def refused(request: HttpRequest, reason: str | Promise, *, status: int = 403) -> ImmediateHttpResponse:
    """Return the exception that ends a sign-in with a page that says why."""
    answer: HttpResponse = render(request, "assistant/accounts/oidc_refused.html", {"reason": reason}, status=status)
    return ImmediateHttpResponse(answer)
