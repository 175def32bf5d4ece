"""Sign-in with a password is limited by name and address, and recorded, on the page and in the admin."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from assistant.models import AuditEntry
from assistant.models.signin import SignInCount
from assistant.services.signin.counting import RESERVE
from assistant.services.signin.devices import DEVICE_COOKIE
from assistant.services.signin.limits import EVERYWHERE, FROM_ADDRESS, OF_ADDRESS, TooManySignIns, admit, network_of
from tests.base import PASSWORD, Cast

PAGES = ("/accounts/login/", "/admin/login/")
ATTACKER, HOME = "203.0.113.9", "198.51.100.7"


def sign_in(page: str, name: str, password: str, address: str, client: Client | None = None) -> Any:
    return (client or Client()).post(page, {"username": name, "password": password}, REMOTE_ADDR=address)


def guess(page: str, name: str, times: int = FROM_ADDRESS.burst, address: str = ATTACKER) -> Any:
    """Guess a password wrongly so often; return the answer to one more try, with the right one."""
    for number in range(times):
        assert sign_in(page, name, f"guess-{number}", address).status_code == 200
    return sign_in(page, name, PASSWORD, address)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", ["amy", "greta", "root"])
def test_guesses_of_one_name_from_one_address_are_limited(page: str, name: str, cast: Cast) -> None:
    answer = guess(page, name)
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= FROM_ADDRESS.seconds
    assert "Try again in" in answer.content.decode()
    assert "sessionid" not in answer.cookies


def test_a_name_that_does_not_exist_is_answered_alike(cast: Cast) -> None:
    known, unknown = (sign_in(PAGES[0], name, "no", ATTACKER).content for name in ("alice", "nobody"))
    assert known.replace(b"alice", b"nobody").count(b"do not match") == unknown.count(b"do not match") == 1
    assert guess(PAGES[0], "nobody", FROM_ADDRESS.burst - 1).status_code == 429


@pytest.mark.parametrize("name", ["alice", "mallory"])
def test_the_owner_signs_in_from_another_address(name: str, cast: Cast) -> None:
    assert guess(PAGES[0], name).status_code == 429
    assert sign_in(PAGES[0], name, PASSWORD, HOME).status_code == 302


def test_the_owners_device_signs_in_while_all_addresses_are_limited(cast: Cast) -> None:
    own = Client()
    assert sign_in(PAGES[0], "alice", PASSWORD, HOME, own).status_code == 302
    assert own.cookies[DEVICE_COOKIE]["httponly"]
    for number in range(EVERYWHERE.burst + RESERVE.burst):
        admit(name="alice", address=f"10.0.{number}.1")
    own.post("/accounts/logout/")
    assert sign_in(PAGES[0], "alice", PASSWORD, "192.0.2.1").status_code == 429
    assert sign_in(PAGES[0], "alice", PASSWORD, ATTACKER, own).status_code == 302


def test_the_owner_signs_in_from_anywhere_while_many_networks_use_up_the_name(cast: Cast) -> None:
    for number in range(EVERYWHERE.burst):
        admit(name="alice", address=f"10.0.{number}.1")
    with pytest.raises(TooManySignIns):
        admit(name="alice", address="")
    assert sign_in(PAGES[0], "alice", PASSWORD, HOME).status_code == 302


def test_a_device_is_known_for_its_own_name_alone(cast: Cast) -> None:
    own = Client()
    sign_in(PAGES[0], "mallory", PASSWORD, ATTACKER, own)
    own.post("/accounts/logout/")
    guess(PAGES[0], "alice")
    assert sign_in(PAGES[0], "alice", PASSWORD, ATTACKER, own).status_code == 429


def test_many_names_from_one_address_are_limited(cast: Cast) -> None:
    for number in range(OF_ADDRESS.burst):
        admit(name=f"name-{number}", address=ATTACKER)
    assert sign_in(PAGES[0], "alice", PASSWORD, ATTACKER).status_code == 429
    assert sign_in(PAGES[0], "alice", PASSWORD, HOME).status_code == 302


def test_signing_in_rightly_counts_nothing(cast: Cast) -> None:
    for _ in range(3 * FROM_ADDRESS.burst):
        assert sign_in(PAGES[0], "alice", PASSWORD, HOME).status_code == 302


def test_a_limit_ends(cast: Cast) -> None:
    guess(PAGES[0], "alice")
    for row in SignInCount.objects.all():
        row.free_at = row.free_at.replace(year=2000)
        row.save()
    assert sign_in(PAGES[0], "alice", PASSWORD, ATTACKER).status_code == 302


def test_a_wait_is_never_longer_than_one_step_whatever_the_clock_did(cast: Cast) -> None:
    guess(PAGES[0], "alice")
    for row in SignInCount.objects.all():
        row.free_at = row.free_at.replace(year=2999)
        row.save()
    assert int(sign_in(PAGES[0], "alice", PASSWORD, ATTACKER)["Retry-After"]) <= FROM_ADDRESS.seconds


@pytest.mark.parametrize("variant", ["ALICE", " alice", "ａlice"])
def test_a_name_written_otherwise_is_the_same_name(variant: str, cast: Cast) -> None:
    for _ in range(FROM_ADDRESS.burst):
        admit(name="alice", address=ATTACKER)
    with pytest.raises(TooManySignIns):
        admit(name=variant, address=ATTACKER)


def test_an_address_of_ipv6_is_its_network() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1") != network_of("2001:db8:0:1::1")
    assert network_of("::ffff:203.0.113.9") == ATTACKER
    assert network_of("unix:") == ""


def test_tries_from_unknown_addresses_share_the_limit_of_the_name_alone(cast: Cast) -> None:
    for _ in range(EVERYWHERE.burst):
        admit(name="alice", address="")
    with pytest.raises(TooManySignIns):
        admit(name="alice", address="")
    admit(name="mallory", address="")


def test_every_outcome_is_recorded_without_the_password(cast: Cast) -> None:
    guess(PAGES[0], "alice")
    sign_in(PAGES[0], "alice", PASSWORD, HOME)
    sign_in(PAGES[0], "hunter2-typed-as-name", "no", HOME)
    rows = list(AuditEntry.objects.filter(action__startswith="signin.").order_by("pk"))
    assert [(row.action, row.target) for row in rows] == [
        *[("signin.failure", "alice")] * FROM_ADDRESS.burst,
        ("signin.limited", "alice"),
        ("signin.success", "alice"),
        ("signin.failure", "unknown user name"),
    ]
    assert {(row.tenant_id, row.details["address"]) for row in rows} == {(None, ATTACKER), (None, HOME)}
    assert rows[-2].actor == cast.alice
    assert "guess-" not in str(rows) + str([row.details for row in rows])


def test_a_refusal_is_recorded_once_a_minute(cast: Cast) -> None:
    guess(PAGES[0], "alice")
    for _ in range(5):
        sign_in(PAGES[0], "alice", PASSWORD, ATTACKER)
    assert AuditEntry.objects.filter(action="signin.limited").count() == 1


@pytest.mark.parametrize("name", ["amy", "greta"])
def test_records_of_sign_in_are_the_operators(name: str, cast: Cast) -> None:
    sign_in(PAGES[0], "alice", "no", ATTACKER)
    client = Client()
    client.login(username=name, password=PASSWORD)
    assert "signin.failure" not in client.get("/admin/assistant/auditentry/").content.decode()
    client.force_login(cast.root)
    assert "signin.failure" in client.get("/admin/assistant/auditentry/").content.decode()


def test_the_operator_switches_it_off(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_SIGN_IN_LIMITS = False
    assert guess(PAGES[0], "alice").status_code == 302
    assert not SignInCount.objects.exists()


def test_the_operator_ends_a_limit(cast: Cast, capsys: Any) -> None:
    guess(PAGES[0], "alice")
    call_command("assistant_allow_sign_in", "alice", "--address", ATTACKER)
    assert capsys.readouterr().out.endswith("counters were deleted.\n")
    assert sign_in(PAGES[0], "alice", PASSWORD, ATTACKER).status_code == 302
    assert AuditEntry.objects.filter(action="signin.allow", target="alice").exists()
    call_command("assistant_allow_sign_in", "--all")
    assert not SignInCount.objects.exists()
    with pytest.raises(CommandError):
        call_command("assistant_allow_sign_in")


@pytest.mark.django_db(transaction=True)
def test_as_many_as_the_limit_are_admitted_of_those_at_once(cast: Cast) -> None:
    def try_once(_: int) -> bool:
        try:
            admit(name="alice", address=ATTACKER)
        except TooManySignIns:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(try_once, range(24))) == FROM_ADDRESS.burst
