"""What django-allauth asks its project: who may sign up, and where people go."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _

from assistant.services.signin.guard import guard, record_without_password
from assistant.services.signin.sign_in_page import sign_in_name

_MESSAGES = {
    "mfa/messages/recovery_codes_generated.txt": _("There are new recovery codes."),
    "mfa/messages/totp_activated.txt": _("The authenticator app was set up."),
    "mfa/messages/totp_deactivated.txt": _("The authenticator app was removed."),
    "mfa/messages/webauthn_added.txt": _("The passkey was added."),
    "mfa/messages/webauthn_removed.txt": _("The passkey was removed."),
}
_WAYS = {
    "reauthenticate": _("Use your password"),
    "mfa_reauthenticate": _("Use a code"),
    "mfa_reauthenticate:webauthn": _("Use a passkey"),
}


class AccountAdapter(DefaultAccountAdapter):
    """Signing in and out."""

    def validation_error(self, code: str, *args: Any) -> ValidationError:
        """Return django-allauth's error; after a wrong name or password the sentence of the assistant's own page."""
        if code.endswith("_password_mismatch"):
            return ValidationError(sign_in_name().mismatch, code=code)
        found: ValidationError = super().validation_error(code, *args)
        return found

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """People cannot create accounts themselves. For first sign-ins elsewhere see `OidcAccounts`."""
        return False

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Let the assistant's own limits refuse first. Raises `TooManySignIns`."""
        guard(request, credentials)
        super().pre_authenticate(request, **credentials)

    def post_login(self, request: HttpRequest, user: Any, *, signal_kwargs: Any, **kwargs: Any) -> Any:
        """Record a sign-in by OpenID Connect; those with passwords are recorded where they are checked."""
        if "sociallogin" in (signal_kwargs or {}):
            record_without_password(request, user)
        return super().post_login(request, user, signal_kwargs=signal_kwargs, **kwargs)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return reverse("assistant:home")

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """Lead somebody whose account was made by their first sign-in elsewhere to the chat, too."""
        return reverse("assistant:home")

    def is_safe_url(self, url: str) -> bool:
        """Return to addresses of the same host alone, as Django's own page does."""
        request = context.request
        return url_has_allowed_host_and_scheme(
            url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        """Say what the page of second factors shows, in our words; the admin would show the rest, much later."""
        message = kwargs.get("message") or _MESSAGES.get(message_template or "")
        if message:
            super().add_message(request, level, message=str(message))

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        ways: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        return [{**way, "description": _WAYS.get(way["id"], way["description"])} for way in ways]
