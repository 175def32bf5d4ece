"""Whose sign-in page people use: the assistant's, or one of the project that has it installed."""

from __future__ import annotations

from django.conf import settings
from django.shortcuts import resolve_url
from django.urls import reverse

from assistant.services.tenancy.second_factor import is_on


def is_sign_in_ours() -> bool:
    """Return whether people sign in on the assistant's page: LOGIN_URL names it, or it asks for second factors.

    Otherwise the project decides how people sign in, and no page of the assistant's may check or change a password.
    """
    return is_on() or resolve_url(settings.LOGIN_URL).partition("?")[0] == reverse("assistant:login")
