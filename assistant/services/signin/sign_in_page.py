"""Whether people use the assistant's sign-in page or the project's, and what they sign in with."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import EmailField
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from assistant.services.tenancy.sign_in_steps import page_of_app


def is_sign_in_ours() -> bool:
    """Return whether people sign in on the assistant's page: LOGIN_URL names it, or an optional app has its own.

    Otherwise the project decides how people sign in, and no page of the assistant's may check or change a password.
    """
    return bool(page_of_app()) or resolve_url(settings.LOGIN_URL).partition("?")[0] == reverse("assistant:login")


@dataclass(frozen=True, slots=True)
class SignInName:
    """What people sign in with, by the user model's `USERNAME_FIELD`.

    Attributes:
        label: its name, in the language of the request.
        mismatch: the sentence after a wrong one, or a wrong password.
        is_email: whether it is the user's e-mail address.
        max_length: in characters.
    """

    label: str
    mismatch: str
    is_email: bool
    max_length: int


def sign_in_name() -> SignInName:
    """Return what people sign in with."""
    model = get_user_model()
    name = model.USERNAME_FIELD
    field = model._meta.get_field(name)
    is_email = isinstance(field, EmailField) or name == model.get_email_field_name()
    max_length: int = getattr(field, "max_length", None) or 254
    if name == "username" and not is_email:
        mismatch = _("That user name and password do not match. Both are case-sensitive.")
        return SignInName(_("User name"), mismatch, is_email, max_length)
    label = _("E-mail address") if is_email else str(capfirst(getattr(field, "verbose_name", name)))
    mismatch = _("%(name)s and password do not match. Both are case-sensitive.") % {"name": label}
    return SignInName(label, mismatch, is_email, max_length)
