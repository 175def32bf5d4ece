"""Middleware that leads people to their second factor before the control panel."""

from __future__ import annotations

from typing import Any

from django.contrib import auth
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from assistant.contrib.sign_in.services.policy import Lack, is_on, lack_of

SIGN_IN, FACTORS = "account_login", "mfa_index"


class SecondFactor(MiddlewareMixin):
    """Middleware. Must come after `AuthenticationMiddleware`."""

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponseBase | None:
        """Redirect from the admin's own sign-in, which knows no second factor, and from pages that need one first."""
        match = request.resolver_match
        if not is_on() or match is None:
            return None
        name = match.url_name or ""
        if match.app_name == "admin" and name == "login":
            return _instead_of_admins_sign_in(request)
        if match.app_name == "admin" and name != "logout":
            return answer_to_lack(request)
        # A person who has not proved a factor may not add one.
        if name.startswith(("account_", "mfa_", "openid_")):
            return answer_to_lack(request, only=Lack.PROOF)
        return None


def answer_to_lack(request: HttpRequest, *, only: Lack | None = None) -> HttpResponse | None:
    """Return where a signed-in user has to go first; None if nothing is lacking.

    A session is ended if its user has a factor but signed in without it: they sign in again.
    """
    lack = lack_of(request.user, request.session)
    if lack is None or only not in (None, lack):
        return None
    if lack is Lack.FACTOR:
        return redirect(FACTORS)
    auth.logout(request)
    return redirect_to_login(_return_address(request), reverse(SIGN_IN))


def _instead_of_admins_sign_in(request: HttpRequest) -> HttpResponse | None:
    if request.user.is_authenticated:
        if not (request.user.is_active and request.user.is_staff):
            raise PermissionDenied
        return answer_to_lack(request)
    wanted = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
    return redirect_to_login(wanted, reverse(SIGN_IN))


def _return_address(request: HttpRequest) -> str:
    return request.get_full_path() if request.method == "GET" else reverse("assistant:home")
