"""Records what happens to second factors, and remembers in which session one was proved.

A project may use django-allauth by itself, with ASSISTANT_SECOND_FACTOR off: nothing is recorded then.
"""

from __future__ import annotations

from typing import Any

from allauth.account.signals import authentication_step_completed
from allauth.mfa import signals
from django.http import HttpRequest

from assistant.contrib.sign_in.services.factors import record_factor
from assistant.contrib.sign_in.services.policy import RECOVERY_CODES, is_on, remember_proof
from assistant.services.signin.guard import step_succeeded


def connect() -> None:
    """Listen to django-allauth's signals. Called by `AppConfig.ready`."""
    for signal, receiver in (
        (signals.authenticator_added, _added),
        (signals.authenticator_removed, _removed),
        (signals.authenticator_reset, _renewed),
        (signals.authenticator_used, _used),
        (authentication_step_completed, _step_completed),
    ):
        signal.connect(receiver, dispatch_uid=f"assistant.{receiver.__name__}")


def _added(request: HttpRequest, user: Any, authenticator: Any, **_: Any) -> None:
    if is_on() and authenticator.type != RECOVERY_CODES:
        remember_proof(request.session, user)
    record_factor(request, user, "added", authenticator.type)


def _removed(request: HttpRequest, user: Any, authenticator: Any, **_: Any) -> None:
    record_factor(request, user, "removed", authenticator.type)


def _renewed(request: HttpRequest, user: Any, authenticator: Any, **_: Any) -> None:
    record_factor(request, user, "renewed", authenticator.type)


def _used(request: HttpRequest, user: Any, authenticator: Any, **_: Any) -> None:
    if is_on():
        remember_proof(request.session, user)
    record_factor(request, user, "used", authenticator.type)


def _step_completed(request: HttpRequest, **_: Any) -> None:
    step_succeeded(request)
