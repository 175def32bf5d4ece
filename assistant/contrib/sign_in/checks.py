"""System checks of sign-in by OpenID Connect and with a second factor."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.urls import NoReverseMatch, reverse

from assistant.contrib.sign_in.allauth_settings import (
    OIDC_APPS,
    OIDC_MIDDLEWARE,
    SECOND_FACTOR_APPS,
    SECOND_FACTOR_MIDDLEWARE,
)
from assistant.services.eventlog.configured import is_shared

_SIGN_IN_MIDDLEWARE = (*SECOND_FACTOR_MIDDLEWARE, "assistant.pages.sign_in.SignInLimits")
_ALLAUTH_SETTINGS = ("ACCOUNT_ADAPTER", "ACCOUNT_FORMS", "ACCOUNT_RATE_LIMITS", "MFA_ADAPTER", "MFA_FORMS")
_SIGN_IN_HINT = "docs/sign-in.md lists the lines for settings and URLs."
_CACHES_OF_ONE_PROCESS = frozenset(
    f"django.core.cache.backends.{name}Cache" for name in ("locmem.LocMem", "dummy.Dummy")
)


@register(Tags.security)
def second_factor(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report what sign-in with a second factor lacks, and warn about a cache that processes do not share."""
    if settings.ASSISTANT_SECOND_FACTOR == "off":
        return []
    missing = [
        *(f"INSTALLED_APPS has no {app!r}" for app in SECOND_FACTOR_APPS if not apps.is_installed(app)),
        *(f"MIDDLEWARE has no {name!r}" for name in _SIGN_IN_MIDDLEWARE if name not in settings.MIDDLEWARE),
        *(f"{name} is not set" for name in _ALLAUTH_SETTINGS if not hasattr(settings, name)),
        *_unknown_sign_in_page("account_login"),
    ]
    found: list[CheckMessage] = [
        Error(
            f"ASSISTANT_SECOND_FACTOR is {settings.ASSISTANT_SECOND_FACTOR!r}, but {what}.",
            hint=_SIGN_IN_HINT,
            id="assistant.E007",
        )
        for what in missing
    ]
    if is_shared() and settings.CACHES["default"]["BACKEND"] in _CACHES_OF_ONE_PROCESS:
        found.append(
            checks.Warning(
                "Processes do not share the cache, so a code of an authenticator app can be used once in each.",
                hint='CACHES["default"] should be on Redis or in the database.',
                id="assistant.W007",
            )
        )
    return found


@register(Tags.security)
def openid_connect(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report what sign-in by OpenID Connect lacks."""
    if not settings.ASSISTANT_OIDC_ISSUER:
        return []
    missing = [
        *(["ASSISTANT_OIDC_CLIENT_ID is not set"] if not settings.ASSISTANT_OIDC_CLIENT_ID else []),
        *(f"INSTALLED_APPS has no {app!r}" for app in OIDC_APPS if not apps.is_installed(app)),
        *(f"MIDDLEWARE has no {name!r}" for name in OIDC_MIDDLEWARE if name not in settings.MIDDLEWARE),
        *(["SOCIALACCOUNT_ADAPTER is not set"] if not hasattr(settings, "SOCIALACCOUNT_ADAPTER") else []),
        *_unknown_sign_in_page("openid_connect_login"),
    ]
    return [
        Error(f"ASSISTANT_OIDC_ISSUER is set, but {what}.", hint=_SIGN_IN_HINT, id="assistant.E008") for what in missing
    ]


def _unknown_sign_in_page(name: str) -> list[str]:
    try:
        reverse(name)
    except NoReverseMatch:
        return ["the URLs of sign-in are missing"]
    return []
