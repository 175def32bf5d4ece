"""The browsers that have signed in with a user's present password. Guesses by others never lock these out."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from assistant.models.signin import SignInDevice
from assistant.services.tenancy.row_scope import all_tenants

DEVICE_COOKIE = "assistant_device"
DEVICE_SECONDS = 180 * 24 * 3600
# Of one person. A further one takes the place of the one that signed in longest ago.
MAX_DEVICES = 10
_SALT = "assistant.signin.device"


def known_device(request: HttpRequest, name: str) -> str:
    """Return the id of a device that has signed in with this name and the user's present password; "" for any other.

    Args:
        name: the user name, in one spelling (`plain_name`).
    """
    cookie = _cookie_of(request, name)
    if cookie is None:
        return ""
    with all_tenants():
        user = get_user_model()._default_manager.filter(pk=cookie.user_id).first()
        is_valid = (
            user is not None
            and constant_time_compare(cookie.bound, _bound_to(user))
            and SignInDevice.objects.filter(user=user, key=_key(cookie.device)).exists()
        )
    return cookie.device if is_valid else ""


def give_device(request: HttpRequest, response: HttpResponse, user: Any, name: str) -> None:
    """Give the browser of a user who has just signed in with this name its cookie, or renew the one that it has."""
    before = _cookie_of(request, name)
    # Also for the same device with another password, since that has just been entered there.
    device = before.device if before is not None and before.user_id == str(user.pk) else secrets.token_hex(16)
    with all_tenants(), transaction.atomic():
        now = timezone.now()
        own = SignInDevice.objects.filter(user=user)
        SignInDevice.objects.update_or_create(user=user, key=_key(device), defaults={"used_at": now})
        kept = list(own.order_by("-used_at", "-pk").values_list("pk", flat=True)[:MAX_DEVICES])
        own.exclude(pk__in=kept).delete()
        SignInDevice.objects.filter(used_at__lt=now - timedelta(seconds=DEVICE_SECONDS)).delete()
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps([name, device, str(user.pk), _bound_to(user)], salt=_SALT),
        max_age=DEVICE_SECONDS,
        httponly=True,
        samesite="Lax",
        secure=bool(settings.SESSION_COOKIE_SECURE),
    )


@dataclass(frozen=True, slots=True)
class _Cookie:
    device: str
    user_id: str
    bound: str


def _cookie_of(request: HttpRequest, name: str) -> _Cookie | None:
    """Return the content of a cookie that was given after a sign-in with this name, also with an earlier password."""
    text = request.COOKIES.get(DEVICE_COOKIE, "")
    try:
        known, device, user_id, bound = map(str, signing.loads(text, salt=_SALT, max_age=DEVICE_SECONDS))
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return _Cookie(device, user_id, bound) if known == name else None


def _key(device: str) -> str:
    return salted_hmac(_SALT + ".key", device, algorithm="sha256").hexdigest()


def _bound_to(user: Any) -> str:
    """Return a value that changes with the user's password, the one that also ends sessions."""
    return salted_hmac(_SALT + ".password", user.get_session_auth_hash(), algorithm="sha256").hexdigest()
