"""The page *Us or the provider?*, and what open chats are told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.provider_health.services import watching
from assistant.models import Provider
from assistant.services.eventlog.log import ThreadLog
from tests.base import Cast
from tests.contrib.provider_health.rows import FAILED, make_runs
from tests.factories import make_provider
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db, until
from tests.ws import open_socket

PAGE = "/admin/provider-health/"
LATELY = timedelta(minutes=5)


@pytest.fixture
def shared(cast: Cast) -> Provider:
    return make_provider(base_url="http://127.0.0.1:1", name="Shared", default_model="m-1")


def fail(cast: Cast, count: int = 6, provider: str = "Shared", model: str = "m-1") -> None:
    of_model = {"provider_name": provider, "model": model}
    make_runs(cast.support, count, at=timezone.now() - LATELY, user=cast.alice, **{**FAILED, **of_model})


@pytest.mark.django_db
def test_operators_read_whose_failure_it_is(admin_client: Client, cast: Cast, shared: Provider) -> None:
    assert "Nobody asked anything in the last 15 minutes." in admin_client.get(PAGE).text
    make_runs(cast.support, 3, at=timezone.now() - LATELY, user=cast.alice)
    assert "Neither: all is well." in admin_client.get(PAGE).text
    fail(cast)
    page = admin_client.get(PAGE).text
    assert "It is the provider: Shared." in page
    assert "6 of 9 runs were not answered by m-1 of Shared." in page
    assert f"/admin/assistant/provider/{shared.pk}/change/" in page
    assert f"{PAGE}?provider={shared.pk}" in admin_client.get(f"/admin/assistant/provider/{shared.pk}/change/").text


@pytest.mark.django_db
def test_a_provider_has_the_page_of_itself(admin_client: Client, cast: Cast, shared: Provider) -> None:
    other = make_provider(base_url="http://127.0.0.1:1", name="Elsewhere")
    fail(cast)
    assert "It is the provider" in admin_client.get(f"{PAGE}?provider={shared.pk}&days=7").text
    page = admin_client.get(f"{PAGE}?provider={other.pk}").text
    assert "Only Elsewhere." in page
    assert "It is the provider" not in page
    assert "No model was asked in this period" in page
    for wrong in ("0", "999999999999999999999", "x", "-1"):
        assert admin_client.get(PAGE, {"provider": wrong, "days": wrong}).status_code == 200


@pytest.mark.django_db
def test_a_tenants_admin_does_not_see_the_deployments_models(client: Client, cast: Cast, shared: Provider) -> None:
    client.force_login(cast.amy)
    assert client.get(PAGE).status_code == 403
    assert "provider-health" not in client.get("/admin/").text


@pytest.mark.django_db
def test_the_page_takes_as_many_queries_for_many_runs_as_for_few(
    admin_client: Client, cast: Cast, shared: Provider
) -> None:
    counts = []
    for count in (6, 1, 30):
        fail(cast, count)
        with CaptureQueriesContext(connection) as queries:
            admin_client.get(PAGE)
        counts.append(len(queries))
    assert counts[1] == counts[2]


@pytest.mark.django_db(transaction=True)
async def test_an_open_chat_is_told_that_its_model_fails(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hello")
        thread = frames[0]["threadId"]
    await in_db(fail)(cast, 6, provider.name, provider.default_model)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.attach(thread, render="html")
        assert (await socket.until_custom("thread.provider"))["value"] == {"isFailing": True}


@pytest.mark.django_db(transaction=True)
async def test_chats_are_woken_when_a_model_begins_and_ceases_to_fail(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "CHECK_SECONDS", 0.05)
    woken: list[str] = []
    monkeypatch.setattr(ThreadLog, "notify_change", lambda log, what: woken.append(what))
    log = ThreadLog()
    is_failing, stop = watching.watch_providers(cast.acme.pk, log)
    assert not is_failing
    await in_db(fail)(cast)
    await until(lambda: woken == ["provider"])
    is_failing, stop_too = watching.watch_providers(cast.acme.pk, log)
    assert is_failing
    await in_db(lambda: make_runs(cast.support, 20, at=timezone.now(), user=cast.alice))()
    await until(lambda: woken == ["provider", "provider"])
    stop()
    stop_too()
