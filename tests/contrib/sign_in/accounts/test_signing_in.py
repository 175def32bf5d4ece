"""People sign in at one page with a password and a second factor, and nowhere without it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user
from django.test import Client

from assistant.models import AuditEntry
from tests.base import PASSWORD, Cast
from tests.contrib.sign_in.accounts.steps import (
    SECOND_STEP,
    SIGN_IN,
    WRONG,
    code_of,
    codes_of,
    enter_code,
    enter_password,
    give_app,
    sign_in,
)


@pytest.mark.parametrize("name", ["alice", "amy", "root"])
def test_without_a_factor_the_password_signs_in(name: str, cast: Cast) -> None:
    client = Client()
    assert enter_password(client, name).url == "/"
    assert get_user(client).username == name  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["alice", "amy", "root"])
def test_with_a_factor_the_code_is_needed_too(name: str, cast: Cast) -> None:
    client, user = Client(), getattr(cast, name)
    give_app(user)
    assert enter_password(client, name).url == SECOND_STEP
    assert get_user(client).is_anonymous  # type: ignore[arg-type]
    assert "Incorrect code" in enter_code(client, WRONG).content.decode()
    assert get_user(client).is_anonymous  # type: ignore[arg-type]
    assert enter_code(client, code_of()).url == "/"
    assert get_user(client) == user  # type: ignore[arg-type]


def test_a_code_counts_once(cast: Cast) -> None:
    give_app(cast.alice)
    code = code_of()
    sign_in(Client(), cast.alice)
    thief = Client()
    enter_password(thief, "alice")
    assert enter_code(thief, code).status_code == 200
    assert get_user(thief).is_anonymous  # type: ignore[arg-type]


def test_a_recovery_code_counts_once(cast: Cast) -> None:
    give_app(cast.alice)
    code = codes_of(cast.alice)[0]
    for status in (302, 200):
        client = Client()
        enter_password(client, "alice")
        assert enter_code(client, code).status_code == status
    assert len(codes_of(cast.alice)) == 9


def test_a_factor_of_another_user_does_not_count(cast: Cast) -> None:
    give_app(cast.alice)
    give_app(cast.mallory, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
    client = Client()
    enter_password(client, "alice")
    assert enter_code(client, code_of("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")).status_code == 200
    assert enter_code(client, codes_of(cast.mallory)[0]).status_code == 200
    assert get_user(client).is_anonymous  # type: ignore[arg-type]


def test_the_second_step_is_nothing_without_the_first(cast: Cast) -> None:
    give_app(cast.alice)
    assert enter_code(Client(), code_of()).url == SIGN_IN


def test_people_come_back_to_the_page_that_they_wanted(cast: Cast) -> None:
    give_app(cast.alice)
    client = Client()
    form = {"username": "alice", "password": PASSWORD}
    assert client.post(SIGN_IN, {**form, "next": "/t/acme/"}).url == SECOND_STEP
    assert enter_code(client, code_of()).url == "/t/acme/"
    for elsewhere in ("https://evil.example/", "//evil.example/", "https://localhost/"):
        assert Client().post(SIGN_IN, {**form, "username": "amy", "next": elsewhere}).url == "/"


def test_cancelling_forgets_the_password(cast: Cast) -> None:
    give_app(cast.alice)
    client = Client()
    enter_password(client, "alice")
    client.post("/accounts/logout/")
    assert enter_code(client, code_of()).url == SIGN_IN


def test_an_account_that_is_closed_between_the_steps_is_not_signed_in(cast: Cast) -> None:
    give_app(cast.alice)
    client = Client()
    enter_password(client, "alice")
    cast.alice.is_active = False
    cast.alice.save()
    enter_code(client, code_of())
    assert get_user(client).is_anonymous  # type: ignore[arg-type]
    assert "do not match" in enter_password(Client(), "alice").content.decode()
    assert "not active" in Client().get("/accounts/inactive/").content.decode()


@pytest.mark.parametrize("page", ["signup/", "email/", "password/reset/", "password/change/", "login/code/", "social/"])
def test_there_is_no_page_for_making_accounts(page: str, cast: Cast) -> None:
    form = {"username": "eve", "password1": "a-long-pass-word-9", "email": "eve@example.com"}
    for answer in (Client().get(f"/accounts/{page}"), Client().post(f"/accounts/{page}", form)):
        assert answer.status_code == 404


def test_allauth_holds_sign_up_closed_too() -> None:
    from allauth.account.adapter import get_adapter

    assert get_adapter().is_open_for_signup(None) is False


@pytest.mark.parametrize("name", ["amy", "root"])
def test_the_admins_own_sign_in_is_no_way_around(name: str, cast: Cast) -> None:
    give_app(getattr(cast, name))
    client = Client()
    for answer in (
        client.get("/admin/login/?next=/admin/assistant/"),
        client.post("/admin/login/?next=/admin/assistant/", {"username": name, "password": PASSWORD}),
    ):
        assert answer.url == f"{SIGN_IN}?next=/admin/assistant/"
    assert client.get("/admin/").status_code == 302
    assert client.get("/admin/login/?next=//evil.example/").url == f"{SIGN_IN}?next=//evil.example/"
    assert client.post(f"{SIGN_IN}?next=//evil.example/", {"username": "alice", "password": PASSWORD}).url == "/"


def test_a_member_is_refused_by_the_admins_sign_in(cast: Cast) -> None:
    client = Client()
    enter_password(client, "alice")
    assert client.get("/admin/login/").status_code == 403


def test_the_outcome_is_recorded(cast: Cast) -> None:
    give_app(cast.alice)
    client = Client()
    enter_password(client, "alice", "no")
    enter_password(client, "alice")
    enter_code(client, WRONG)
    enter_code(client, code_of())
    rows = AuditEntry.objects.filter(action__startswith="signin.").order_by("pk")
    assert [(row.action, row.target, row.tenant_id) for row in rows] == [
        ("signin.failure", "alice", None),
        ("signin.factor_failure", "alice", None),
        ("signin.factor_used", "alice", None),
        ("signin.success", "alice", None),
    ]
    assert rows[2].details == {"factor": "totp", "address": "127.0.0.1"}
    assert WRONG not in str([row.details for row in rows])


def test_the_page_looks_like_the_other_one(cast: Cast, second_factor: Any) -> None:
    on = Client().get(SIGN_IN).content.decode()
    second_factor.ROOT_URLCONF = "config.urls"
    second_factor.ASSISTANT_SECOND_FACTOR = "off"
    off = Client().get(SIGN_IN).content.decode()
    for part in ('class="plain-card"', 'name="username"', 'name="password"', ">Sign in</button>", "User name"):
        assert part in on and part in off
