"""What browsers send as a passkey is checked, whatever it is, and never answered with an error of the server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import get_user
from django.test import Client

from assistant.models import AuditEntry
from tests.base import Cast
from tests.contrib.sign_in.accounts.steps import (
    ADD_PASSKEY,
    FACTORS,
    SECOND_STEP,
    confirm,
    enter_password,
    give_app,
    sign_in,
)

ID, EMPTY = "AAECAw", {"clientDataJSON": "e30", "authenticatorData": "AA", "signature": "AA", "userHandle": "MQ"}
MADE_UP: list[Any] = [
    None, [], "text", 7, True, {}, {"response": 3}, {"response": []}, {"id": 1, "rawId": [], "response": {}},
    {"id": ID, "rawId": ID, "type": "public-key", "response": EMPTY, "clientExtensionResults": {}},
    {"id": ID, "rawId": ID, "type": "public-key", "response": {**EMPTY, "userHandle": None}},
    {"id": ID, "rawId": ID, "type": "public-key", "response": {**EMPTY, "userHandle": "%%%"}},
    {"id": ID, "rawId": ID, "type": "public-key", "response": {**EMPTY, "userHandle": 5}},
    {"id": "ü", "rawId": "ü", "type": 5, "response": {**EMPTY, "clientDataJSON": "ü"}},
    {"id": ID, "rawId": ID, "type": "public-key", "response": {"clientDataJSON": "e30", "attestationObject": "oA"}},
    {"id": ID, "rawId": ID, "type": "public-key", "response": {"clientDataJSON": "AA", "attestationObject": "_w"}},
]  # fmt: skip


@pytest.mark.parametrize("sent", [json.dumps(value) for value in MADE_UP] + ["", "{", "[" * 5000, "NaN", "[" * 50_000])
def test_a_passkey_that_was_made_up_is_refused(sent: str, cast: Cast) -> None:
    give_app(cast.alice)
    half = Client()
    enter_password(half, "alice")
    half.get(SECOND_STEP)
    assert half.post(SECOND_STEP, {"credential": sent}).status_code == 200
    alone = Client()
    alone.get("/accounts/login/passkey/", headers={"Accept": "application/json"})
    assert alone.post("/accounts/login/passkey/", {"credential": sent}).url == "/accounts/login/"
    for client in (half, alone):
        assert get_user(client).is_anonymous  # type: ignore[arg-type]
    whole = sign_in(Client(), cast.alice)
    confirm(whole, FACTORS)
    whole.get(ADD_PASSKEY)
    assert whole.post(ADD_PASSKEY, {"credential": sent, "name": "x"}).status_code == 200
    assert whole.post("/accounts/confirm/passkey/", {"credential": sent}).status_code == 302
    assert not Authenticator.objects.filter(type="webauthn").exists()
    # What is no JSON object at all counts as nothing.
    is_object = sent.startswith("{") and len(sent) > 2
    assert AuditEntry.objects.filter(action="signin.factor_failure").exists() == is_object
