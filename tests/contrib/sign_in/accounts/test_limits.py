"""Tries at both steps are limited by name, address and device, by the assistant's limits and by django-allauth's."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user
from django.core.management import call_command
from django.test import Client

from assistant.asgi import view_slots
from assistant.models import AuditEntry
from assistant.models.signin import SignInCount
from assistant.services.signin.devices import DEVICE_COOKIE
from assistant.services.signin.limits import FROM_ADDRESS, FROM_DEVICE, SECOND_FACTORS, admit
from tests.base import Cast
from tests.contrib.sign_in.accounts.steps import (
    ADD_APP,
    CONFIRM_BY_CODE,
    SECOND_STEP,
    WRONG,
    code_of,
    codes_of,
    enter_code,
    enter_password,
    give_app,
    sign_in,
)

ATTACKER, HOME = "203.0.113.9", "198.51.100.7"


def try_codes(client: Client, times: int, address: str = ATTACKER) -> Any:
    """Enter wrong codes so often; return the answer to one more, which is right."""
    for _ in range(times):
        assert enter_code(client, WRONG, REMOTE_ADDR=address).status_code == 200
    return enter_code(client, code_of(), REMOTE_ADDR=address)


def test_guessed_passwords_are_limited(cast: Cast) -> None:
    for _ in range(FROM_ADDRESS.burst):
        assert enter_password(Client(), "alice", "no", REMOTE_ADDR=ATTACKER).status_code == 200
    answer = enter_password(Client(), "alice", REMOTE_ADDR=ATTACKER)
    assert answer.status_code == 429 and 0 < int(answer["Retry-After"]) <= FROM_ADDRESS.seconds
    assert enter_password(Client(), "alice", REMOTE_ADDR=HOME).status_code == 302


def test_guessed_codes_are_limited(cast: Cast) -> None:
    give_app(cast.alice)
    client = Client()
    enter_password(client, "alice", REMOTE_ADDR=ATTACKER)
    answer = try_codes(client, FROM_ADDRESS.burst)
    assert answer.status_code == 429 and 0 < int(answer["Retry-After"]) <= FROM_ADDRESS.seconds
    assert get_user(client).is_anonymous  # type: ignore[arg-type]
    assert AuditEntry.objects.filter(action="signin.factor_failure").count() == FROM_ADDRESS.burst
    assert AuditEntry.objects.filter(action="signin.limited", target="alice").count() == 1


def test_a_recovery_code_is_behind_the_same_limit(cast: Cast) -> None:
    give_app(cast.alice)
    client = Client()
    enter_password(client, "alice", REMOTE_ADDR=ATTACKER)
    try_codes(client, FROM_ADDRESS.burst)
    assert enter_code(client, codes_of(cast.alice)[0], REMOTE_ADDR=ATTACKER).status_code == 429


def test_a_new_session_is_no_new_limit(cast: Cast) -> None:
    give_app(cast.alice)
    for _ in range(FROM_ADDRESS.burst):
        client = Client()
        enter_password(client, "alice", REMOTE_ADDR=ATTACKER)
        enter_code(client, WRONG, REMOTE_ADDR=ATTACKER)
    assert enter_password(Client(), "alice", REMOTE_ADDR=ATTACKER).status_code == 429


def test_codes_from_many_addresses_are_limited_but_the_owners_device_is_not(cast: Cast) -> None:
    give_app(cast.alice)
    own = sign_in(Client(), cast.alice)
    assert own.cookies[DEVICE_COOKIE].value
    own.post("/accounts/logout/")
    for number in range(SECOND_FACTORS.burst):
        admit(name="alice", address=f"203.0.113.{number}", of_name=SECOND_FACTORS)
    thief = Client()
    assert enter_password(thief, "alice", REMOTE_ADDR="192.0.2.1").url == SECOND_STEP
    answer = enter_code(thief, codes_of(cast.alice)[0], REMOTE_ADDR="192.0.2.1")
    assert answer.status_code == 429 and int(answer["Retry-After"]) <= SECOND_FACTORS.seconds
    assert enter_password(own, "alice").url == SECOND_STEP
    assert enter_code(own, codes_of(cast.alice)[0]).url == "/"


def test_a_device_has_a_limit_of_its_own(cast: Cast) -> None:
    give_app(cast.alice)
    own = sign_in(Client(), cast.alice)
    own.post("/accounts/logout/")
    enter_password(own, "alice")
    assert try_codes(own, FROM_DEVICE.burst, HOME).status_code == 429


def test_both_steps_done_rightly_count_nothing(cast: Cast) -> None:
    give_app(cast.alice)
    for code in codes_of(cast.alice):
        client = Client()
        assert enter_password(client, "alice", REMOTE_ADDR=HOME).status_code == 302
        assert enter_code(client, code, REMOTE_ADDR=HOME).status_code == 302
    own = {row.key: row.free_at for row in SignInCount.objects.all()}
    enter_password(Client(), "alice", REMOTE_ADDR=HOME)
    later = {row.key: row.free_at for row in SignInCount.objects.all()}
    assert all(abs((later[key] - own[key]).total_seconds()) < 30 for key in own)


def test_codes_that_confirm_are_limited_too(cast: Cast) -> None:
    give_app(cast.alice)
    client = sign_in(Client(), cast.alice)
    for _ in range(FROM_DEVICE.burst):
        assert client.post(CONFIRM_BY_CODE, {"code": WRONG}).status_code == 200
    assert client.post(CONFIRM_BY_CODE, {"code": codes_of(cast.alice)[0]}).status_code == 429


def test_the_operator_ends_a_limit(cast: Cast, capsys: Any) -> None:
    give_app(cast.alice)
    client = Client()
    enter_password(client, "alice", REMOTE_ADDR=ATTACKER)
    try_codes(client, FROM_ADDRESS.burst)
    call_command("assistant_allow_sign_in", "alice", "--address", ATTACKER)
    assert enter_code(client, code_of(), REMOTE_ADDR=ATTACKER).status_code == 302


def test_allauths_own_limits_are_on(cast: Cast, second_factor: Any) -> None:
    second_factor.ACCOUNT_RATE_LIMITS = {**second_factor.ACCOUNT_RATE_LIMITS, "login": "2/m/ip"}
    for status in (302, 302, 429):
        answer = enter_password(Client(), "alice")
        assert answer.status_code == status
    assert int(answer["Retry-After"]) > 0 and "tried too often" in answer.content.decode()


def test_allauths_limit_holds_where_the_assistants_are_off(cast: Cast, second_factor: Any) -> None:
    second_factor.ASSISTANT_SIGN_IN_LIMITS = False
    second_factor.ACCOUNT_RATE_LIMITS = {"login_failed": "3/m/key"}
    give_app(cast.alice)
    client = Client()
    enter_password(client, "alice")
    for _ in range(3):
        assert "Incorrect code" in enter_code(client, WRONG).content.decode()
    assert "Too many" in enter_code(client, code_of()).content.decode()
    assert get_user(client).is_anonymous  # type: ignore[arg-type]


@pytest.mark.parametrize("page", ["login/", "login/second-factor/", "login/passkey/", "confirm/", "confirm/code/"])
async def test_each_step_waits_for_a_place_as_sign_ins_do(page: str) -> None:
    scope = {"type": "http", "method": "POST", "root_path": ""}
    assert view_slots._places_for({**scope, "path": f"/accounts/{page}"}) is view_slots._places.get().sign_ins
    assert view_slots._places_for({**scope, "path": ADD_APP}) is view_slots._places.get().views
