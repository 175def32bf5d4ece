"""django-allauth's views in this product's templates."""

from __future__ import annotations

from typing import Any

from allauth.account.views import AccountInactiveView, LoginView, ReauthenticateView
from allauth.mfa.base.views import AuthenticateView, IndexView
from allauth.mfa.base.views import ReauthenticateView as ReauthenticateByCodeView
from allauth.mfa.recovery_codes.views import (
    DownloadRecoveryCodesView,
    GenerateRecoveryCodesView,
    ViewRecoveryCodesView,
)
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import (
    AddWebAuthnView,
    LoginWebAuthnView,
    ReauthenticateWebAuthnView,
    RemoveWebAuthnView,
)
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _

from assistant.contrib.sign_in.services.factors import may_remove
from assistant.contrib.sign_in.services.policy import factors_of, is_required_of
from assistant.pages.sign_in import sign_in_context

# All of allauth's limits refill within an hour, those that people meet within a minute.
RETRY_SECONDS = 60


def _template(name: str) -> str:
    return f"assistant/accounts/{name}.html"


class SignInView(LoginView):
    """The sign-in page where a second factor can be proved."""

    template_name = _template("login")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().get_context_data(**kwargs)
        return found | sign_in_context(self.request)


class FactorsView(IndexView):
    """The user's second factors: what there is, and what can be added or removed."""

    template_name = _template("factors")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = self.request.user
        found: dict[str, Any] = super().get_context_data(**kwargs)
        count = factors_of(user).count() if is_required_of(user) else None
        return found | {"must_set_up": count == 0, "is_last": count == 1}


class RemovePasskeyView(RemoveWebAuthnView):
    """Removes a passkey, except the last factor of somebody who has to have one."""

    template_name = _template("passkey_remove")
    success_url = reverse_lazy("mfa_index")

    def form_valid(self, form: Any) -> HttpResponse:
        if not may_remove(self.request.user, self.object):
            messages.error(self.request, _("You have to have a second factor: add another one first."))
            return redirect("mfa_index")
        answer: HttpResponse = super().form_valid(form)
        return answer


sign_in = SignInView.as_view()
inactive = AccountInactiveView.as_view(template_name=_template("inactive"))
again_by_password = ReauthenticateView.as_view(template_name=_template("again_password"))
factors = FactorsView.as_view()
second_step = AuthenticateView.as_view(template_name=_template("second_step"))
again_by_code = ReauthenticateByCodeView.as_view(template_name=_template("again_code"))
totp_add = ActivateTOTPView.as_view(template_name=_template("totp_add"))
totp_remove = DeactivateTOTPView.as_view(template_name=_template("totp_remove"))
passkey_add = AddWebAuthnView.as_view(template_name=_template("passkey_add"))
passkey_remove = RemovePasskeyView.as_view()
passkey_sign_in = LoginWebAuthnView.as_view()
again_by_passkey = ReauthenticateWebAuthnView.as_view(template_name=_template("again_passkey"))
codes = ViewRecoveryCodesView.as_view(template_name=_template("codes"))
codes_renew = GenerateRecoveryCodesView.as_view(template_name=_template("codes_renew"))
codes_file = DownloadRecoveryCodesView.as_view(template_name="assistant/accounts/codes.txt")


def too_many(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 429 where allauth's own limits refuse; a project's `handler429`."""
    sentence = _("This was tried too often. Try again in a minute.")
    response = render(request, "assistant/chat/too_many_sign_ins.html", {"sentence": sentence}, status=429)
    response["Retry-After"] = str(RETRY_SECONDS)
    response["Cache-Control"] = "no-store"
    return response
