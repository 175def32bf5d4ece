"""django-allauth's forms that try a password or a second factor, counted and recorded like all sign-ins."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from allauth.account.forms import LoginForm
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext_lazy as _

from assistant.contrib.sign_in.services.factors import record_factor
from assistant.services.signin.guard import admit_passkey, guard_second_factor, step_succeeded

T = TypeVar("T")

MAX_CODE, MAX_CREDENTIAL = 64, 20_000
# Errors that django-allauth lets through for malformed data.
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, struct.error)


class CredentialField(forms.JSONField):
    """What the browser's script has got from the passkey: JSON of a bounded length and depth."""

    def __init__(self) -> None:
        super().__init__(widget=forms.HiddenInput)

    def to_python(self, value: Any) -> Any:
        try:
            found = super().to_python(value if len(value or "") <= MAX_CREDENTIAL else "{")
        except RecursionError:
            found = None
        if found is not None and not isinstance(found, dict):
            raise ValidationError(self.error_messages["invalid"])
        return found


def checked(check: Callable[[], T]) -> T:
    """Return the result of a check of a passkey. Raises `ValidationError` for anything that is wrong with it."""
    try:
        return check()
    except (*_MALFORMED, InvalidSignature, UnsupportedAlgorithm) as exc:
        raise ValidationError(_("This is no passkey of yours for this site.")) from exc


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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].validators.append(MaxLengthValidator(MAX_CODE))  # type: ignore[attr-defined]

    def clean_code(self) -> str:
        found: str = self._counted(super().clean_code)  # type: ignore[misc]
        return found


class _CountedPasskey(_Counted):
    kind = "webauthn"

    def clean_credential(self) -> Any:
        return self._counted(lambda: checked(super(_CountedPasskey, self).clean_credential))  # type: ignore[misc]


class CodeForm(_CountedCode, AuthenticateForm):
    """A code of the authenticator app, or a recovery code, after the password."""


class CodeAgainForm(_CountedCode, ReauthenticateForm):
    """The same, before factors are changed."""


class PasskeyForm(_CountedPasskey, AuthenticateWebAuthnForm):
    """A passkey after the password."""

    credential = CredentialField()


class PasskeyAgainForm(_CountedPasskey, ReauthenticateWebAuthnForm):
    """The same, before factors are changed."""

    credential = CredentialField()


class PasskeyAloneForm(LoginWebAuthnForm):
    """A passkey without a password. The signed answer names the user, so that no attempt counts against a user name."""

    credential = CredentialField()

    def clean_credential(self) -> Any:
        authenticator = checked(super().clean_credential)
        admit_passkey(context.request, authenticator.user)
        return authenticator


class AddPasskeyForm(AddWebAuthnForm):
    """A new passkey."""

    name = forms.CharField(required=False, max_length=100)
    credential = CredentialField()

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = checked(super().clean)
        return found
