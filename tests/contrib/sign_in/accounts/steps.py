"""What people do at the pages for signing in: passwords, codes and recovery codes."""

from __future__ import annotations

import hmac
import struct
import time
from base64 import b32decode
from typing import Any

from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.conf import settings
from django.test import Client

from tests.base import PASSWORD

SIGN_IN, SECOND_STEP, FACTORS = "/accounts/login/", "/accounts/login/second-factor/", "/accounts/second-factor/"
ADD_APP, REMOVE_APP = "/accounts/second-factor/app/add/", "/accounts/second-factor/app/remove/"
CODES, ADD_PASSKEY = "/accounts/second-factor/codes/", "/accounts/second-factor/passkeys/add/"
CONFIRM, CONFIRM_BY_CODE = "/accounts/confirm/", "/accounts/confirm/code/"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
WRONG = "000000"


def code_of(secret: str = SECRET, at: float | None = None) -> str:
    """Return the code that an authenticator app shows, by RFC 6238."""
    period = getattr(settings, "MFA_TOTP_PERIOD", 30)
    counter = struct.pack(">Q", int(time.time() if at is None else at) // period)
    digest = hmac.digest(b32decode(secret), counter, "sha1")
    offset = digest[-1] & 15
    return f"{(int.from_bytes(digest[offset : offset + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"


def give_app(user: Any, secret: str = SECRET) -> None:
    """Set up an authenticator app, and recovery codes."""
    TOTP.activate(user, secret)
    RecoveryCodes.activate(user)


def codes_of(user: Any) -> list[str]:
    """Return the user's unused recovery codes."""
    found: list[str] = RecoveryCodes.activate(user).get_unused_codes()
    return found


def enter_password(client: Client, name: str, password: str = PASSWORD, **more: Any) -> Any:
    return client.post(SIGN_IN, {"username": name, "password": password}, **more)


def enter_code(client: Client, code: str, **more: Any) -> Any:
    return client.post(SECOND_STEP, {"code": code}, **more)


def sign_in(client: Client, user: Any, secret: str = SECRET) -> Client:
    """Sign in with the password and the app's code."""
    assert enter_password(client, user.username).url == SECOND_STEP
    assert enter_code(client, code_of(secret)).url == "/"
    return client


def confirm(client: Client, page: str = FACTORS) -> None:
    """Confirm with the password, as the pages that change factors ask."""
    assert client.post(CONFIRM + f"?next={page}", {"password": PASSWORD}).url == page


def is_signed_in(client: Client) -> bool:
    return client.get("/").status_code != 302 or client.get("/").url not in (f"{SIGN_IN}?next=/", FACTORS)
