"""Devices that have signed in are known until the password changes, and at most ten of one person."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from assistant.models import AuditEntry
from assistant.models.signin import SignInDevice
from assistant.services.signin.devices import DEVICE_COOKIE, DEVICE_SECONDS, MAX_DEVICES
from assistant.services.signin.limits import FROM_ADDRESS, FROM_DEVICE
from tests.base import PASSWORD, Cast

LOGIN, CHANGE = "/accounts/login/", "/admin/password_change/"
ATTACKER, HOME = "203.0.113.9", "198.51.100.7"


def sign_in(client: Client, name: str = "alice", password: str = PASSWORD, address: str = HOME) -> Any:
    return client.post(LOGIN, {"username": name, "password": password}, REMOTE_ADDR=address)


def device(name: str = "alice") -> Client:
    """A browser that has signed in, and out again."""
    own = Client()
    assert sign_in(own, name).status_code == 302
    own.post("/accounts/logout/")
    return own


def use_up(name: str = "alice") -> None:
    """Guess until the attacker's address is limited, so that only a device gets through from there."""
    for _ in range(FROM_ADDRESS.burst):
        sign_in(Client(), name, "guess", ATTACKER)
    assert sign_in(Client(), name, address=ATTACKER).status_code == 429


def change(client: Client, old: str, new: str = "another-long-pass") -> Any:
    return client.post(CHANGE, {"old_password": old, "new_password1": new, "new_password2": new}, REMOTE_ADDR=HOME)


def test_a_device_is_forgotten_with_the_password(cast: Cast) -> None:
    own = device()
    cast.alice.set_password("another-long-pass")
    cast.alice.save()
    for _ in range(FROM_ADDRESS.burst):
        sign_in(Client(), "alice", "guess", ATTACKER)
    assert sign_in(own, password="another-long-pass", address=ATTACKER).status_code == 429


def test_the_device_on_which_the_password_is_changed_is_known_afterwards(cast: Cast) -> None:
    own = Client()
    assert sign_in(own, "root").status_code == 302
    before = own.cookies[DEVICE_COOKIE].value
    assert change(own, PASSWORD).status_code == 302
    assert own.cookies[DEVICE_COOKIE].value != before and SignInDevice.objects.count() == 1
    own.post("/accounts/logout/")
    for _ in range(FROM_ADDRESS.burst):
        sign_in(Client(), "root", "guess", ATTACKER)
    assert sign_in(own, "root", "another-long-pass", ATTACKER).status_code == 302


def test_a_device_that_signs_in_again_is_the_same_device(cast: Cast) -> None:
    own = device()
    assert [sign_in(own).status_code, SignInDevice.objects.count()] == [302, 1]


def test_of_one_person_ten_devices_are_known_and_the_oldest_goes(cast: Cast) -> None:
    first, others = device(), [device() for _ in range(MAX_DEVICES)]
    hers = device("mallory")
    use_up()
    assert SignInDevice.objects.filter(user=cast.alice).count() == MAX_DEVICES
    assert sign_in(first, address=ATTACKER).status_code == 429
    assert sign_in(others[0], address=ATTACKER).status_code == 302
    use_up("mallory")
    assert sign_in(hers, "mallory", address=ATTACKER).status_code == 302


def test_a_device_that_was_not_used_for_long_is_deleted(cast: Cast) -> None:
    device()
    SignInDevice.objects.update(used_at=F("used_at") - timedelta(seconds=DEVICE_SECONDS + 1))
    device("mallory")
    assert [row.user for row in SignInDevice.objects.all()] == [cast.mallory]


@pytest.mark.parametrize("forged", ["x", "alice:x:y", '["alice","1"]:x'])
def test_a_forged_cookie_is_no_device(forged: str, cast: Cast) -> None:
    own = Client()
    own.cookies[DEVICE_COOKIE] = forged
    use_up()
    assert sign_in(own, address=ATTACKER).status_code == 429


def test_guesses_of_the_old_password_are_limited_and_recorded(cast: Cast) -> None:
    own = Client()
    own.force_login(cast.root)
    for _ in range(FROM_DEVICE.burst):
        answer = change(own, "guess")
        assert answer.status_code == 200 and "entered incorrectly" in answer.content.decode()
    refused = change(own, PASSWORD)
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 0
    rows = AuditEntry.objects.filter(action__startswith="signin.", target="root").order_by("pk")
    assert [row.action for row in rows] == ["signin.failure"] * FROM_DEVICE.burst + ["signin.limited"]
    cast.root.refresh_from_db()
    assert cast.root.check_password(PASSWORD)


def test_guesses_of_the_old_password_count_as_guesses_at_sign_in(cast: Cast) -> None:
    own = Client()
    own.force_login(cast.root)
    for _ in range(FROM_ADDRESS.burst):
        change(own, "guess")
    assert sign_in(Client(), "root").status_code == 429


def test_changing_the_password_rightly_counts_nothing(cast: Cast) -> None:
    own, passwords = Client(), [PASSWORD, *(f"another-long-pass-{number}" for number in range(7))]
    own.force_login(cast.root)
    for old, new in pairwise(passwords):
        assert change(own, old, new).status_code == 302


def test_the_switch_for_sign_in_holds_for_the_old_password_too(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_SIGN_IN_LIMITS = False
    own = Client()
    own.force_login(cast.root)
    for _ in range(FROM_ADDRESS.burst + 1):
        assert change(own, "guess").status_code == 200
    assert change(own, PASSWORD).status_code == 302
