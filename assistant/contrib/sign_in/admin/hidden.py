"""No pages of django-allauth's own in the admin where the assistant uses it."""

from __future__ import annotations

from django.apps import apps
from django.conf import settings
from django.contrib import admin

from assistant.contrib.sign_in.allauth_settings import MFA_ADAPTER, SOCIALACCOUNT_ADAPTER

ALLAUTH_MODELS = (
    "mfa.Authenticator",
    "account.EmailAddress",
    "account.EmailConfirmation",
    "socialaccount.SocialApp",
    "socialaccount.SocialAccount",
    "socialaccount.SocialToken",
)


def _hide_allauth() -> None:
    """Take django-allauth's own pages from the admin: they show secrets, and record nothing in the audit trail."""
    for label in ALLAUTH_MODELS:
        if apps.is_installed(f"allauth.{label.partition('.')[0]}"):
            model = apps.get_model(label)
            if admin.site.is_registered(model):
                admin.site.unregister(model)


if (
    getattr(settings, "MFA_ADAPTER", "") == MFA_ADAPTER
    or getattr(settings, "SOCIALACCOUNT_ADAPTER", "") == SOCIALACCOUNT_ADAPTER
):
    _hide_allauth()
