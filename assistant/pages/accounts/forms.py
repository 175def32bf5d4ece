"""django-allauth's forms that try a password or a second factor, counted and recorded like all sign-ins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from allauth.account.forms import LoginForm
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.webauthn.forms import AuthenticateWebAuthnForm, LoginWebAuthnForm, ReauthenticateWebAuthnForm
from django.core.exceptions import ValidationError

from assistant.services.signin.guard import admit_passkey, guard_second_factor, step_succeeded
from assistant.services.signin.second_factor import record_factor

T = TypeVar("T")


class PasswordForm(LoginForm):
    """The user name and the password, with the field names of Django's own page."""

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else super().add_prefix(field_name)


class _Counted:
    """Counts a try before it is checked; one that is right no longer counts, one that is wrong is recorded."""

    kind: ClassVar[str]
    user: Any

    def _counted(self, check: Callable[[], T]) -> T:
        request = context.request
        guard_second_factor(request, self.user)
        try:
            found = check()
        except ValidationError:
            record_factor(request, self.user, "failure", self.kind)
            raise
        step_succeeded(request)
        return found


class _CountedCode(_Counted):
    kind = "code"

    def clean_code(self) -> str:
        return self._counted(super().clean_code)  # type: ignore[misc]


class _CountedPasskey(_Counted):
    kind = "webauthn"

    def clean_credential(self) -> Any:
        return self._counted(super().clean_credential)  # type: ignore[misc]


class CodeForm(_CountedCode, AuthenticateForm):
    """A code of the authenticator app, or a recovery code, after the password."""


class CodeAgainForm(_CountedCode, ReauthenticateForm):
    """The same, before factors are changed."""


class PasskeyForm(_CountedPasskey, AuthenticateWebAuthnForm):
    """A passkey after the password."""


class PasskeyAgainForm(_CountedPasskey, ReauthenticateWebAuthnForm):
    """The same, before factors are changed."""


class PasskeyAloneForm(LoginWebAuthnForm):
    """A passkey without a password. Whose it is says the signed answer, so that nothing counts against a name."""

    def clean_credential(self) -> Any:
        authenticator = super().clean_credential()
        admit_passkey(context.request, authenticator.user)
        return authenticator
