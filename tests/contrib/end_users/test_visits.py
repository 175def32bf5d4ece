"""A token opens the websocket for one end user, from an allowed page, while all that it is bound to holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone
from websockets.exceptions import InvalidStatus

from assistant.contrib.branding.models import Brand
from assistant.contrib.end_users.models import EndUser, WidgetOrigin
from assistant.contrib.end_users.services.tokens import mint_token
from assistant.models import ApiKey, Assistant, Conversation, Membership, Provider, ToolCall, ToolFile
from assistant.services.tenancy.members import find_member
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.end_users.minting import SHOP, allow, backend, end_user, token_for, visit
from tests.factories import make_assistant, switch_tool
from tests.fake_provider import FakeProvider
from tests.isolation.planting import CANARY
from tests.isolation.test_websocket import leaks, try_all
from tests.live import Server, serve

# What a token opens does not depend on the database.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]


@pytest.fixture
def shop(cast: Cast) -> Caller:
    allow(cast.support)
    return backend(cast)


async def refused(url: str, token: str, **place: str | None) -> int:
    with pytest.raises(InvalidStatus) as exc:
        async with visit(url, token, **place):  # type: ignore[arg-type]
            pass
    return exc.value.response.status_code


async def test_an_end_user_is_answered(
    uvicorn_server: Server, cast: Cast, shop: Caller, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Half past nine.")
    token = await sync_to_async(token_for)(shop, "c-1")
    async with visit(uvicorn_server.url, token) as socket:
        frames = await socket.ask("When do you open?")
    assert frames[-1]["type"] == "RUN_FINISHED"
    talk = await Conversation.objects.select_related("user", "tenant").aget()
    assert talk.tenant == cast.acme
    assert talk.user == (await EndUser.objects.select_related("user").aget(external_id="c-1")).user


async def test_a_tool_knows_the_end_user_and_the_model_is_told_nothing(
    cast: Cast, shop: Caller, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("who_is_asking", {})
    fake_provider.reply("You are Dora.")
    token = await sync_to_async(token_for)(shop, "c-1", name="Dora", context={"account": 4711})
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.contrib.end_users.settings"}) as site:
        async with visit(site.url, token) as socket:
            await socket.ask("Who am I?")
    call = await ToolCall.objects.aget()
    assert call.status == "ok", call.error
    assert call.result == '{"id":"c-1","name":"Dora","context":{"account":4711}}'
    assert "4711" not in str(fake_provider.requests[0].json)


@pytest.mark.parametrize(
    "place",
    [
        {"origin": "https://evil.example.com"},
        {"origin": "http://shop.example.com"},
        {"origin": "null"},
        {"origin": None},
        {"tenant": "globex"},
        {"assistant": "other"},
        {"assistant": "nothing"},
    ],
    ids=str,
)
async def test_a_token_counts_nowhere_else(
    place: dict[str, str | None], uvicorn_server: Server, cast: Cast, shop: Caller
) -> None:
    await sync_to_async(lambda: allow(make_assistant(cast.acme, "other")))()
    token = await sync_to_async(token_for)(shop, "c-1")
    assert await refused(uvicorn_server.url, token, **place) == 403


async def test_the_sites_own_origin_is_no_exception(uvicorn_server: Server, shop: Caller) -> None:
    token = await sync_to_async(token_for)(shop, "c-1")
    assert await refused(uvicorn_server.url, token, origin=uvicorn_server.url) == 403


async def test_a_token_that_was_tampered_with_is_refused(uvicorn_server: Server, shop: Caller) -> None:
    mine = await sync_to_async(token_for)(shop, "c-1")
    other = await sync_to_async(token_for)(shop, "c-2")
    body, mac = other.rsplit(".", 1)[0], mine.rsplit(".", 1)[1]
    for forged in (f"{body}.{mac}", mine[:-1], "eu_", "eu_x.y", f"{mine}x"):
        assert await refused(uvicorn_server.url, forged) == 403


async def test_a_token_has_an_end(uvicorn_server: Server, cast: Cast, shop: Caller) -> None:
    await sync_to_async(token_for)(shop, "c-1")
    assert await refused(uvicorn_server.url, await sync_to_async(_short)(cast, 0)) == 403


def _short(cast: Cast, seconds: int) -> str:
    key = ApiKey.objects.get(tenant=cast.acme)
    return mint_token(end_user=end_user("c-1"), assistant=cast.support, key_id=key.pk, seconds=seconds)[0]


async def test_a_connection_ends_with_its_token(uvicorn_server: Server, cast: Cast, shop: Caller) -> None:
    await sync_to_async(token_for)(shop, "c-1")
    async with visit(uvicorn_server.url, await sync_to_async(_short)(cast, 3)) as socket:
        assert await socket.closed() == 4401


LOSSES: dict[str, Callable[[Cast], object]] = {
    "key revoked": lambda cast: ApiKey.objects.update(revoked_at=timezone.now()),
    "key expired": lambda cast: ApiKey.objects.update(expires_at=timezone.now()),
    "key's owner gone": lambda cast: Membership.objects.filter(user=cast.amy).delete(),
    "key's owner inactive": lambda cast: User.objects.filter(pk=cast.amy.pk).update(is_active=False),
    "origin taken off": lambda cast: WidgetOrigin.objects.all().delete(),
    "origin of another assistant": lambda cast: WidgetOrigin.objects.update(assistant=make_assistant(cast.acme)),
    "assistant switched off": lambda cast: Assistant.objects.update(is_active=False),
    "end user gone": lambda cast: end_user("c-1").user.delete(),
    "tenant suspended": lambda cast: type(cast.acme).objects.update(is_active=False),
}


@pytest.mark.parametrize("loss", LOSSES)
async def test_whatever_a_token_is_bound_to_ends_it(
    loss: str, uvicorn_server: Server, cast: Cast, shop: Caller
) -> None:
    token = await sync_to_async(token_for)(shop, "c-1")
    async with visit(uvicorn_server.url, token) as socket:
        await sync_to_async(LOSSES[loss])(cast)
        assert await socket.closed() == 4401
    assert await refused(uvicorn_server.url, token) == 403


async def test_one_end_user_learns_and_stops_nothing_of_another(
    uvicorn_server: Server, cast: Cast, shop: Caller, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=[f"{CANARY} ", gate, "stays."])
    hers, his = [await sync_to_async(token_for)(shop, name) for name in ("c-1", "c-2")]
    async with visit(uvicorn_server.url, hers) as dora, visit(uvicorn_server.url, his) as carl:
        theirs = await dora.start(f"A secret: {CANARY}")
        await asyncio.to_thread(gate.wait_reached)
        seen = await try_all(carl, theirs)
        gate.release()
        rest = await dora.until_end(theirs["runId"])
    assert leaks(seen) == []
    assert rest[-1]["outcome"] == {"type": "success"}


async def test_a_token_opens_no_thread_with_another_assistant(
    uvicorn_server: Server, cast: Cast, shop: Caller, provider: Provider, fake_provider: FakeProvider
) -> None:
    other = await sync_to_async(make_assistant)(cast.acme, "other")
    await sync_to_async(allow)(other)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=[f"{CANARY} ", gate, "stays."])
    here = await sync_to_async(token_for)(shop, "c-1")
    there = await sync_to_async(lambda: mint_token(
        end_user=end_user("c-1"), assistant=other, key_id=ApiKey.objects.get(tenant=cast.acme).pk, seconds=60
    )[0])()  # fmt: skip
    async with visit(uvicorn_server.url, here) as first, visit(uvicorn_server.url, there, assistant="other") as second:
        theirs = await first.start(f"A secret: {CANARY}")
        await asyncio.to_thread(gate.wait_reached)
        seen = await try_all(second, theirs)
        gate.release()
        rest = await first.until_end(theirs["runId"])
    assert leaks(seen) == []
    assert rest[-1]["outcome"] == {"type": "success"}


async def test_the_member_whose_key_it_is_sees_nothing_of_it(
    uvicorn_server: Server, cast: Cast, shop: Caller, provider: Provider, fake_provider: FakeProvider
) -> None:
    token = await sync_to_async(token_for)(shop, "c-1")
    async with visit(uvicorn_server.url, token) as socket:
        await socket.ask("Something personal")
    amy = await sync_to_async(Caller)(cast.acme, cast.amy)
    assert (await sync_to_async(amy.get)("conversations/")).json()["results"] == []


@pytest.mark.parametrize("path", ["/api/v1/tenants/acme/conversations/", "/v1/models", "/mcp/"])
async def test_an_end_users_token_is_no_key_of_the_other_doors(path: str, uvicorn_server: Server, shop: Caller) -> None:
    token = await sync_to_async(token_for)(shop, "c-1")
    async with httpx2.AsyncClient() as client:
        answer = await client.get(uvicorn_server.url + path, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code in {401, 404}


async def test_a_token_fetches_the_files_of_its_own_threads(
    uvicorn_server: Server, cast: Cast, shop: Caller, provider: Provider, fake_provider: FakeProvider
) -> None:
    def keep() -> str:
        file = ToolFile.objects.create(
            tenant=cast.acme, call=ToolCall.objects.get(), name="a.png", media_type="image/png", size=5, data=b"bytes"
        )
        return f"{uvicorn_server.url}/api/v1/tenants/acme/files/{file.pk}/"

    def other_token() -> str:
        other = make_assistant(cast.acme, "other")
        allow(other)
        key = ApiKey.objects.get(tenant=cast.acme)
        return mint_token(end_user=end_user("c-1"), assistant=other, key_id=key.pk, seconds=60)[0]

    await sync_to_async(switch_tool)(cast.acme, "current_time")
    fake_provider.call("current_time", {})
    hers, his = [await sync_to_async(token_for)(shop, name) for name in ("c-1", "c-2")]
    async with visit(uvicorn_server.url, hers) as socket:
        await socket.ask("What time is it?")
    url = await sync_to_async(keep)()
    async with httpx2.AsyncClient() as client:

        async def status(token: str, origin: str = SHOP) -> int:
            return (await client.get(url, headers={"Authorization": f"Bearer {token}", "Origin": origin})).status_code

        answer = await client.get(url, headers={"Authorization": f"Bearer {hers}", "Origin": SHOP})
        assert (answer.content, answer.headers["Access-Control-Allow-Origin"]) == (b"bytes", SHOP)
        assert await status(his) == 404
        assert await status(hers, "https://evil.example.com") == 401
        assert await status(await sync_to_async(other_token)()) == 404
        asked = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
        allowed = await client.options(url, headers={"Origin": SHOP, **asked})
        assert (allowed.status_code, allowed.headers["Access-Control-Allow-Origin"]) == (204, SHOP)
        refused = await client.options(url, headers={"Origin": "https://evil.example.com", **asked})
        assert "Access-Control-Allow-Origin" not in refused.headers
        await ApiKey.objects.aupdate(revoked_at=timezone.now())
        assert await status(hers) == 401


def test_who_acts_for_an_end_user_is_told_who_that_is(cast: Cast, shop: Caller) -> None:
    token_for(shop, "c-1")
    user_id = end_user("c-1").user_id
    member = find_member(user_id=user_id, tenant_slug="acme", with_end_users=True)
    assert member is not None
    assert member.extra["end_user"]["id"] == "c-1"
    assert find_member(user_id=user_id, tenant_slug="acme") is None
    assert find_member(user_id=user_id, tenant_slug="globex", with_end_users=True) is None


def test_origins_are_the_tenants_own(cast: Cast, shop: Caller) -> None:
    assert [str(row.tenant) for row in WidgetOrigin.objects.filter(origin=SHOP)] == ["Acme"]


async def test_a_visitor_is_told_why_by_the_brands_name_and_without_a_model(
    shop: Caller, cast: Cast, uvicorn_server: Server, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(Brand.objects.update_or_create)(tenant=cast.acme, defaults={"name": "Shop Desk"})
    token = await sync_to_async(token_for)(shop, "dora")
    async with visit(uvicorn_server.url, token) as socket:
        await socket.ask("Hi", forwardedProps={"render": "html"})
        (about,) = (await socket.until_custom("message.details"))["value"]["messages"]
    assert about["why"].endswith("conversation with Shop Desk.") and "test-model" not in str(about)
