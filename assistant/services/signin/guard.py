"""Limits every sign-in with a password, on any page, and records it in the audit trail.

`SignInGuard` comes first in AUTHENTICATION_BACKENDS, so that the page, the admin and all else that calls Django's
`authenticate` for a request is limited by one function.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpRequest, HttpResponse

from assistant.services.signin.counting import Limit
from assistant.services.signin.devices import give_device, known_device
from assistant.services.signin.limits import (
    EVERYWHERE,
    SECOND_FACTORS,
    Attempt,
    TooManySignIns,
    admit,
    plain_name,
    succeed,
)
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.row_scope import all_tenants

_ATTEMPT, _SUCCESS, _COUNTED = "_assistant_sign_in", "_assistant_signed_in", "_assistant_sign_in_counted"
# Stored in place of unknown user names, because people may type their password into that field.
UNKNOWN_NAME = "unknown user name"


class SignInGuard:
    """A backend that signs nobody in: it raises `TooManySignIns` where a limit is reached.

    It has no `get_user`, because no session names it as its backend.
    """

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        """Count the sign-in. Without a request, as from a command, do nothing."""
        if request is not None:
            guard(request, credentials)

    async def aauthenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        """The same for asynchronous callers."""
        await sync_to_async(self.authenticate)(request, **credentials)


def guard(request: HttpRequest, credentials: dict[str, Any]) -> None:
    """Count a sign-in once for its request. Raises `TooManySignIns`."""
    name = _name_in(credentials)
    if name and "password" in credentials:
        _count(request, name, EVERYWHERE)


def guard_second_factor(request: HttpRequest, user: Any) -> None:
    """Count a try of a user's second factor, once for its request. Raises `TooManySignIns`."""
    _count(request, user.get_username(), SECOND_FACTORS)


def admit_passkey(request: HttpRequest, user: Any) -> None:
    """Note a sign-in with a passkey alone, so that it is recorded. It is not counted: a signature cannot be guessed."""
    if settings.ASSISTANT_SIGN_IN_LIMITS:
        setattr(request, _ATTEMPT, Attempt(plain_name(user.get_username()), _address_of(request), ()))


def step_succeeded(request: HttpRequest) -> None:
    """Stop counting what the request has tried, because the password or the second factor was right."""
    attempt: Attempt | None = getattr(request, _ATTEMPT, None)
    if attempt is not None and getattr(request, _COUNTED, False):
        setattr(request, _COUNTED, False)
        succeed(attempt)


def _count(request: HttpRequest, name: str, of_name: Limit) -> None:
    if not settings.ASSISTANT_SIGN_IN_LIMITS or hasattr(request, _ATTEMPT):
        return
    try:
        device = known_device(request, plain_name(name))
        attempt = admit(name=name, address=_address_of(request), device=device, of_name=of_name)
    except TooManySignIns as exc:
        if exc.is_new:
            _record("signin.limited", name, _address_of(request))
        raise
    setattr(request, _ATTEMPT, attempt)
    setattr(request, _COUNTED, True)


def remember_device(request: HttpRequest, response: HttpResponse) -> None:
    """Give a browser that has signed in a cookie, so that guesses by others never lock it out."""
    # Removed, because the page and the middleware both call this.
    attempt: Attempt | None = request.__dict__.pop(_SUCCESS, None)
    if attempt is None:
        return
    give_device(request, response, request.user, attempt.name)


def check_own_password(request: HttpRequest, password: str) -> bool:
    """Check the password of the person who is signed in, limited and recorded as a sign-in is.

    If it is right, `remember_device` renews the cookie of the device, which ends when the password changes.

    Raises:
        TooManySignIns: a limit is reached.
    """
    user: Any = request.user
    credentials = {"username": user.get_username(), "password": password}
    guard(request, credentials)
    if not user.check_password(password):
        user_login_failed.send(__name__, credentials={**credentials, "password": "*" * 20}, request=request)
        return False
    step_succeeded(request)
    setattr(request, _SUCCESS, getattr(request, _ATTEMPT, None))
    return True


def connect_signals() -> None:
    """Record the outcome of the sign-ins that `guard` has admitted. Called by `AppConfig.ready`."""
    user_logged_in.connect(_signed_in, dispatch_uid="assistant.signin")
    user_login_failed.connect(_failed, dispatch_uid="assistant.signin")


def _signed_in(request: HttpRequest, user: Any, **_: Any) -> None:
    attempt: Attempt | None = getattr(request, _ATTEMPT, None)
    if request is None or attempt is None:
        return
    setattr(request, _SUCCESS, attempt)
    step_succeeded(request)
    _record("signin.success", user.get_username(), attempt.address, actor=user)


def record_without_password(request: HttpRequest, user: Any) -> None:
    """Record a sign-in that another site has verified; it is not limited here."""
    _record("signin.success", user.get_username(), _address_of(request), actor=user)


def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    attempt: Attempt | None = getattr(request, _ATTEMPT, None)
    if attempt is not None:
        _record("signin.failure", _name_in(credentials), attempt.address)


def _record(action: str, name: str, address: str, *, actor: Any = None) -> None:
    # Sign-ins belong to no tenant: such rows are the operators'.
    with all_tenants():
        users = get_user_model()._default_manager
        is_known = users.filter(**{get_user_model().USERNAME_FIELD: name}).exists()
        target = name if is_known else UNKNOWN_NAME
        audit_trail.record(actor=actor, action=action, target=target, details={"address": address})


def _name_in(credentials: dict[str, Any]) -> str:
    name = credentials.get("username") or credentials.get(get_user_model().USERNAME_FIELD) or credentials.get("email")
    return str(name or "")


def _address_of(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR") or "")
