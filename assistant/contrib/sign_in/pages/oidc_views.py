"""The views of sign-in by OpenID Connect: the redirect to the provider, the way back, and disconnecting."""

from __future__ import annotations

import logging
from typing import Any

from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.utils import get_request_param
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from requests import RequestException

from assistant.contrib.sign_in.pages.oidc import OidcClient, provider_id
from assistant.contrib.sign_in.pages.oidc_accounts import FAILED, refused
from assistant.contrib.sign_in.services.joining import disconnect, is_oidc_on
from assistant.services.signin.guard import check_own_password

logger = logging.getLogger(__name__)

MAX_PASSWORD = 4096


@never_cache
def leave(request: HttpRequest) -> HttpResponse:
    """Lead to the provider, by a page: our policy lets no form lead to another site, not by a redirect either."""
    _check_on()
    if request.method != "POST":
        return redirect("assistant:login")
    # As django-allauth reads it, which takes it from the address too.
    process = get_request_param(request, "process") or "login"
    if process not in ("login", "connect"):
        return HttpResponseBadRequest(gettext("This address is not right."))
    if process == "connect":
        nothing = gettext("The password is not right, so nothing was connected.")
        if (refusal := _check_password(request, nothing)) is not None:
            return refusal
    answer = _answer(OAuth2LoginView, request)
    if answer.status_code != 302:
        return answer
    url = answer["Location"]
    page = render(request, "assistant/accounts/oidc_leave.html", {"url": url})
    page["Refresh"] = f"0; url={url}"
    return page


@require_POST
@never_cache
def disconnect_own(request: HttpRequest) -> HttpResponse:
    """Disconnect the signed-in person's account from the provider, if they have a password to sign in with."""
    _check_on()
    user: Any = request.user
    nothing = gettext("The password is not right, so nothing was disconnected.")
    if (refusal := _check_password(request, nothing)) is not None:
        return refusal
    if not user.has_usable_password():
        messages.error(request, gettext("You could not sign in any more. Set a password first."))
    elif disconnect(user):
        messages.success(request, gettext("Your account is disconnected. You sign in with your password."))
    return redirect("assistant:account")


def _check_password(request: HttpRequest, sentence: str) -> HttpResponse | None:
    """Ask for the password, so that a session that was left open cannot be used to change how its owner signs in."""
    user: Any = request.user
    if not user.is_authenticated:
        return redirect("assistant:login")
    password = request.POST.get("password", "")[:MAX_PASSWORD]
    if user.has_usable_password() and not check_own_password(request, password):
        messages.error(request, sentence)
        return redirect("assistant:account")
    return None


@never_cache
def come_back(request: HttpRequest) -> HttpResponse:
    """Take the code that the provider sends with the browser, and sign its person in."""
    _check_on()
    return _answer(OAuth2CallbackView, request)


def _answer(view: Any, request: HttpRequest) -> HttpResponse:
    """Return what a view of django-allauth's answers; a page that says so if the provider does not answer rightly."""
    try:
        answer: HttpResponse = view.adapter_view(OidcClient(request, provider_id()))(request)
    except (OAuth2Error, RequestException, KeyError, TypeError, ValueError):
        logger.exception("The OpenID Connect provider does not answer rightly")
        return refused(request, FAILED, status=401).response  # type: ignore[no-any-return]
    return answer


def _check_on() -> None:
    if not is_oidc_on():
        raise Http404("Nobody signs in by OpenID Connect here.")
