"""A member's token opens the websocket for the member, with their permissions, while their session lasts."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings
from websockets.exceptions import InvalidStatus

from assistant.contrib.end_users.hosting import member_grant
from assistant.contrib.end_users.models import WidgetOrigin
from assistant.contrib.end_users.services.member_tokens import mint_member_token
from assistant.models import Assistant, Conversation, Membership, Provider, Tenant
from assistant.services.tenancy.sessions import end_sessions
from tests.agui import text_of
from tests.base import Cast
from tests.contrib.end_users.minting import SHOP, allow, visit
from tests.factories import make_assistant, make_conversation
from tests.fake_provider import FakeProvider
from tests.live import Server, serve

# What a token opens does not depend on the database.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
ADDRESS = "/t/acme/widget-token/"


@dataclass(frozen=True)
class Guest:
    """A member in a browser."""

    client: Client
    site: str

    def grant(self, assistant: str = "support", **headers: str) -> Any:
        host = self.site.removeprefix("http://")
        return self.client.get(ADDRESS, {"assistant": assistant}, headers={"host": host, **headers})

    def token(self, assistant: str = "support") -> str:
        answer = self.grant(assistant)
        assert answer.status_code == 200, answer.content
        return str(answer.json()["token"])


@pytest.fixture
def alice_here(uvicorn_server: Server, cast: Cast) -> Guest:
    client = Client()
    client.force_login(cast.alice)
    return Guest(client, uvicorn_server.url)


async def refused(url: str, token: str, **place: str | None) -> int:
    with pytest.raises(InvalidStatus) as exc:
        async with visit(url, token, **place):  # type: ignore[arg-type]
            pass
    return exc.value.response.status_code


async def test_a_member_is_answered_as_themselves(
    alice_here: Guest, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Half past nine.")
    token = await sync_to_async(alice_here.token)()
    async with visit(alice_here.site, token, origin=alice_here.site) as socket:
        frames = await socket.ask("When do you open?")
    assert text_of(frames) == "Half past nine."
    talk = await Conversation.objects.select_related("user", "tenant").aget()
    assert (talk.user, talk.tenant) == (cast.alice, cast.acme)


def test_the_widget_is_told_how_the_assistant_looks(alice_here: Guest, cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(
        starters=["Where is my order?"],
        greeting="Hello!",
        translations={"de": {"starters": ["Wo ist meine Bestellung?"]}},
    )
    given = alice_here.grant().json()
    assert given["is_member"] and given["assistant"]["greetings"] == {"default": "Hello!"}
    assert given["assistant"]["starters"] == {
        "default": ["Where is my order?"],
        "de": ["Wo ist meine Bestellung?"],
    }
    assert (given["socket"], given["files"]["url"]) == ("/ws/acme/support/", "/api/v1/tenants/acme/attachments/")
    session = alice_here.client.cookies["sessionid"].value
    assert session not in str(given)


@pytest.mark.parametrize(
    "place",
    [
        {"origin": "https://evil.example.com"},
        {"origin": SHOP},
        {"origin": "null"},
        {"tenant": "globex"},
        {"assistant": "other"},
    ],
    ids=str,
)
async def test_a_token_counts_nowhere_else(place: dict[str, str], alice_here: Guest, cast: Cast) -> None:
    await sync_to_async(lambda: allow(make_assistant(cast.acme, "other")))()
    token = await sync_to_async(alice_here.token)()
    assert await refused(alice_here.site, token, **({"origin": alice_here.site} | place)) == 403


async def test_a_token_works_on_pages_of_its_own_origin_alone(alice_here: Guest, cast: Cast) -> None:
    await sync_to_async(allow)(cast.support)
    token = await sync_to_async(alice_here.token)()
    # Also where the other page may show the assistant, and for programs, which name no page.
    for origin in (SHOP, None, "null"):
        assert await refused(alice_here.site, token, origin=origin) == 403
    at_shop = await sync_to_async(lambda: alice_here.grant(origin=SHOP).json()["token"])()
    assert await refused(alice_here.site, at_shop, origin=alice_here.site) == 403


async def test_a_page_of_another_origin_has_to_be_allowed(alice_here: Guest, cast: Cast) -> None:
    token = await sync_to_async(lambda: alice_here.grant(origin=SHOP).json()["token"])()
    assert await refused(alice_here.site, token, origin=SHOP) == 403
    row = await sync_to_async(allow)(cast.support)
    async with visit(alice_here.site, token, origin=SHOP) as socket:
        await row.adelete()
        assert await socket.closed() == 4401


def sign_out(guest: Guest, cast: Cast) -> None:
    guest.client.logout()


LOSSES: dict[str, Callable[[Guest, Cast], object]] = {
    "signed out": sign_out,
    "signed out everywhere": lambda guest, cast: end_sessions(cast.alice),
    "session gone": lambda guest, cast: Session.objects.all().delete(),
    "password changed": lambda guest, cast: User.objects.filter(pk=cast.alice.pk).update(password="other"),
    "membership ended": lambda guest, cast: Membership.objects.filter(user=cast.alice).delete(),
    "deactivated": lambda guest, cast: User.objects.filter(pk=cast.alice.pk).update(is_active=False),
    "tenant suspended": lambda guest, cast: Tenant.objects.update(is_active=False),
}


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_token_ends_with_the_session_and_the_membership(loss: str, alice_here: Guest, cast: Cast) -> None:
    token = await sync_to_async(alice_here.token)()
    async with visit(alice_here.site, token, origin=alice_here.site) as socket:
        await sync_to_async(LOSSES[loss])(alice_here, cast)
        assert await socket.closed() == 4401
    assert await refused(alice_here.site, token, origin=alice_here.site) == 403


async def test_a_token_ends_by_itself(alice_here: Guest, cast: Cast) -> None:
    async def of(seconds: int) -> str:
        token, _ = await sync_to_async(mint_member_token)(
            tenant_id=cast.acme.pk, assistant_id=cast.support.pk, user_id=cast.alice.pk, seconds=seconds,
            session_key=alice_here.client.cookies["sessionid"].value, origin=alice_here.site, is_own=True,
        )  # fmt: skip
        return token

    assert await refused(alice_here.site, await of(0), origin=alice_here.site) == 403
    async with visit(alice_here.site, await of(3), origin=alice_here.site) as socket:
        assert await socket.closed() == 4401


async def test_a_token_that_was_tampered_with_or_made_elsewhere_is_refused(
    alice_here: Guest, settings: Settings
) -> None:
    token = await sync_to_async(alice_here.token)()
    other = "B" if token[40] != "B" else "C"
    settings.ASSISTANT_FIELD_ENCRYPTION_KEYS = ["x" * 43 + "="]
    foreign = await sync_to_async(alice_here.token)()
    for forged in (token[:40] + other + token[41:], token[:-1], "mt_", "mt_x.y", foreign):
        assert await refused(alice_here.site, forged, origin=alice_here.site) == 403


def test_only_the_widgets_doors_take_it_and_only_what_is_the_assistants(alice_here: Guest, cast: Cast) -> None:
    token = alice_here.token()
    api = f"{alice_here.site}/api/v1/tenants/acme"
    theirs = make_conversation(cast.alice, make_assistant(cast.acme, "other"))
    with httpx2.Client(headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
        for path in (f"{api}/conversations/", f"{api}/conversations/{theirs.pk}/", f"{api}/assistants/"):
            assert client.get(path).status_code == 401
        at_home = {"Sec-Fetch-Site": "same-origin"}
        linked = {"Referer": f"{alice_here.site}/t/acme/"}
        for headers, status in ((at_home, 404), (linked, 404), ({}, 401), ({"Sec-Fetch-Site": "none"}, 401)):
            assert client.get(f"{api}/files/{uuid.uuid4()}/", headers=headers).status_code == status
        assert client.get(f"{api}/files/{uuid.uuid4()}/", headers={"Origin": SHOP}).status_code == 401
        foreign = client.get(f"{alice_here.site}/api/v1/tenants/globex/files/{uuid.uuid4()}/")
        assert foreign.status_code == 401


async def test_a_thread_of_another_assistant_is_not_there(alice_here: Guest, cast: Cast) -> None:
    def other() -> Conversation:
        return make_conversation(cast.alice, make_assistant(cast.acme, "other"))

    thread = await sync_to_async(other)()
    async with visit(alice_here.site, await sync_to_async(alice_here.token)(), origin=alice_here.site) as socket:
        await socket.send({"type": "attach", "threadId": str(thread.pk)})
        frame = await socket.next()
    assert frame["code"] == "thread_not_found"


def test_strangers_and_pages_of_other_sites_get_none(alice_here: Guest, cast: Cast) -> None:
    stranger = Client()
    assert stranger.get(ADDRESS, {"assistant": "support"}).status_code == 302
    stranger.force_login(cast.mallory)
    foreign = stranger.get(ADDRESS, {"assistant": "support"})
    absent = stranger.get(ADDRESS.replace("acme", "nobody"), {"assistant": "support"})
    assert (foreign.status_code, absent.status_code) == (404, 404)
    assert alice_here.grant("nothing").status_code == 404
    assert alice_here.grant(**{"sec-fetch-site": "cross-site"}).status_code == 404
    assert alice_here.grant(**{"sec-fetch-site": "same-origin"}).status_code == 200
    assert alice_here.client.post(ADDRESS).status_code == 405


def request_of(guest: Guest, user: User) -> HttpRequest:
    request = RequestFactory().get("/my-token/")
    request.user, request.session = user, guest.client.session
    return request


def test_a_view_of_the_project_mints_one_and_sees_no_more_rows_than_before(alice_here: Guest, cast: Cast) -> None:
    request = request_of(alice_here, cast.alice)
    assert member_grant(request, tenant="acme", assistant="support", seconds=60)["token"].startswith("mt_")
    with pytest.raises(PermissionDenied):
        member_grant(request, tenant="globex", assistant="support")
    with pytest.raises(ValueError, match="60 to 3600"):
        member_grant(request, tenant="acme", assistant="support", seconds=86_400)


async def test_the_operator_switches_it_off(cast: Cast, alice_here: Guest, settings: Settings) -> None:
    token = await sync_to_async(alice_here.token)()
    with serve(env={"ASSISTANT_MEMBER_TOKENS": "false"}) as site:
        assert await refused(site.url, token, origin=alice_here.site) == 403
    settings.ASSISTANT_MEMBER_TOKENS = False
    assert (await sync_to_async(alice_here.grant)()).status_code == 404
    assert not await WidgetOrigin.objects.aexists()
