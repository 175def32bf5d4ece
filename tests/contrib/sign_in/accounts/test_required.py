"""Who has to have a second factor sets one up before anything else; half a sign-in opens no door."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.test import Client
from websockets.exceptions import InvalidStatus

from assistant.contrib.sign_in.services.policy import remember_proof
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.contrib.sign_in.accounts.steps import (
    ADD_APP,
    ADD_PASSKEY,
    FACTORS,
    SIGN_IN,
    code_of,
    confirm,
    enter_password,
    give_app,
    sign_in,
)
from tests.live import serve
from tests.ws import open_socket

API, CHAT, ADMIN = "/api/v1/tenants/acme/assistants/", "/t/acme/", "/admin/assistant/conversation/"


@pytest.mark.parametrize(
    ("mode", "asked"),
    [("optional", set()), ("admins", {"amy", "root"}), ("required", {"alice", "amy", "root"})],
)
def test_the_operator_says_who_needs_one(mode: str, asked: set[str], cast: Cast, second_factor: Any) -> None:
    second_factor.ASSISTANT_SECOND_FACTOR = mode
    for name in ("alice", "amy", "root"):
        client = Client()
        enter_password(client, name)
        assert (client.get("/").headers.get("Location") == FACTORS) == (name in asked)


def test_an_admin_without_django_staff_rights_needs_one_too(cast: Cast, second_factor: Any) -> None:
    second_factor.ASSISTANT_SECOND_FACTOR = "admins"
    User.objects.filter(pk=cast.amy.pk).update(is_staff=False)
    client = Client()
    enter_password(client, "amy")
    assert client.get("/").headers["Location"] == FACTORS


@pytest.mark.parametrize("page", [CHAT, ADMIN, "/admin/", "/"])
def test_they_are_led_to_set_one_up(page: str, transactional_db: None, cast: Cast, second_factor: Any) -> None:
    second_factor.ASSISTANT_SECOND_FACTOR = "admins"
    client = Client()
    enter_password(client, "amy")
    assert client.get(page).headers["Location"] == FACTORS
    assert "required here" in client.get(FACTORS).content.decode()
    assert client.get(API).status_code == 401
    confirm(client, ADD_APP)
    secret = client.get(ADD_APP).context["form"].secret
    assert client.post(ADD_APP, {"code": code_of(secret)}).status_code == 302
    assert client.get(page).headers.get("Location") != FACTORS
    assert client.get(API).status_code == 200


def test_they_can_sign_out_instead(cast: Cast, second_factor: Any) -> None:
    second_factor.ASSISTANT_SECOND_FACTOR = "required"
    client = Client()
    enter_password(client, "alice")
    client.post("/accounts/logout/")
    assert get_user(client).is_anonymous  # type: ignore[arg-type]


def opened(client: Client) -> dict[str, int]:
    return {page: client.get(page).status_code for page in (CHAT, ADMIN, API)}


def test_after_the_password_alone_no_door_is_open(cast: Cast) -> None:
    give_app(cast.amy)
    client = Client()
    enter_password(client, "amy")
    assert opened(client) == {CHAT: 302, ADMIN: 302, API: 401}
    for page in (FACTORS, ADD_APP, ADD_PASSKEY):
        assert client.get(page).url.startswith(SIGN_IN)
    assert opened(sign_in(Client(), cast.amy)) == {CHAT: 200, ADMIN: 200, API: 200}


@pytest.mark.parametrize("page", [CHAT, ADMIN, FACTORS, ADD_APP, "/accounts/confirm/"])
def test_a_session_of_any_other_sign_in_does_not_count(page: str, cast: Cast) -> None:
    """A project may have pages of its own that sign people in with a password alone."""
    give_app(cast.amy)
    client = Client()
    client.force_login(cast.amy)
    assert client.get(API).status_code == 401
    assert client.get(page).headers["Location"].startswith(SIGN_IN)
    assert get_user(client).is_anonymous  # type: ignore[arg-type]


def test_other_sessions_sign_in_again_once_a_factor_is_set_up(transactional_db: None, cast: Cast) -> None:
    here, elsewhere = Client(), Client()
    for client in (here, elsewhere):
        enter_password(client, "alice")
    confirm(here, ADD_APP)
    here.post(ADD_APP, {"code": code_of(here.get(ADD_APP).context["form"].secret)})
    assert here.get(CHAT).status_code == 200
    assert elsewhere.get(CHAT).headers["Location"].startswith(SIGN_IN)


def test_the_proof_of_one_user_is_not_anothers(cast: Cast) -> None:
    give_app(cast.amy)
    client = Client()
    client.force_login(cast.amy)
    for user, status in ((cast.alice, 401), (cast.amy, 200)):
        session = client.session
        remember_proof(session, user)
        session.save()
        assert client.get(API).status_code == status


def test_api_keys_need_none(cast: Cast, second_factor: Any) -> None:
    second_factor.ASSISTANT_SECOND_FACTOR = "required"
    _, secret = create_api_key(tenant=cast.acme, user=cast.alice, name="robot", scopes=["chat", "read"])
    assert Client().get(API, headers={"Authorization": f"Bearer {secret}"}).status_code == 200


@pytest.mark.parametrize("mode", ["optional", "required"])
async def test_the_websocket_refuses_half_a_sign_in(mode: str, transactional_db: None, cast: Cast) -> None:
    if mode == "optional":
        await sync_to_async(give_app)(cast.alice)

    async def handshake(url: str, cookie: str) -> int:
        try:
            async with open_socket(url, origin=url, headers={"Cookie": cookie}):
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code

    def cookie_of(client: Client) -> str:
        return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"

    def sessions() -> tuple[str, str]:
        half, whole = Client(), Client()
        enter_password(half, "alice")
        if mode == "optional":
            return cookie_of(half), cookie_of(sign_in(whole, cast.alice))
        enter_password(whole, "alice")
        session = whole.session
        remember_proof(session, cast.alice)
        session.save()
        return cookie_of(half), cookie_of(whole)

    half, whole = await sync_to_async(sessions)()
    with serve(env={"ASSISTANT_SECOND_FACTOR": mode}) as server:
        assert [await handshake(server.url, cookie) for cookie in (half, whole)] == [403, 101]
