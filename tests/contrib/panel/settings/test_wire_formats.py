"""The wire format on the providers' pages: what can be chosen, and tests and lists of models through it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from django.test import Client, override_settings

from assistant.contrib.panel.services import provider_check, provider_probe
from assistant.models import Assistant, Provider
from assistant.providers import FORMATS, model_class
from assistant.toolkit.lazy_module import LazyModule
from tests.base import Cast
from tests.factories import make_provider
from tests.fake_provider import FakeProvider
from tests.providers.native.wires import WIRES, Wire

LIST = "/admin/assistant/provider/"
SECRET = "sk-canary-553120"
GEMINIS = {"models": [{"name": "models/gemini-a"}, {"name": "models/gemini-b"}]}


@pytest.fixture(autouse=True)
def _on_this_machine() -> Any:
    with override_settings(DEBUG=True):  # the guard then allows the fake provider's address
        provider_check._lists.clear()
        yield


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


@pytest.fixture
def row(cast: Cast, fake_provider: FakeProvider, wire: Wire) -> Provider:
    if wire.name == "google":
        fake_provider.listing = GEMINIS
    fields = {"name": "Own", "api_key": SECRET, "wire_format": wire.name}
    return make_provider(cast.acme, base_url=fake_provider.url, **fields)


def add(client: Client, cast: Cast, **fields: str) -> str:
    form = {"tenant": str(cast.acme.pk), "name": "New", "base_url": "https://llm.example.com/v1", "default_model": "m"}
    response = client.post(f"{LIST}add/", {**form, "prices": "{}", "extra_body": "{}", **fields}, follow=True)
    return response.content.decode()


def test_a_format_can_be_chosen(amys: Client, cast: Cast, wire: Wire) -> None:
    add(amys, cast, wire_format=wire.name)
    assert Provider.objects.get(name="New").wire_format == wire.name


def test_without_a_choice_it_is_chat_completions_and_stays_what_it_is(
    amys: Client, cast: Cast, row: Provider, wire: Wire
) -> None:
    add(amys, cast)
    assert Provider.objects.get(name="New").wire_format == "chat-completions"
    form = {"name": "Own", "base_url": row.base_url, "default_model": "other", "prices": "{}", "extra_body": "{}"}
    assert amys.post(f"{LIST}{row.pk}/change/", form).status_code == 302
    row.refresh_from_db()
    assert (row.default_model, row.wire_format) == ("other", wire.name)


def test_a_format_whose_package_is_missing_cannot_be_chosen(
    amys: Client, cast: Cast, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, FORMATS[wire.name].package, None)
    assert FORMATS[wire.name].extra in add(amys, cast, wire_format=wire.name)
    assert not Provider.objects.filter(name="New").exists()


def test_a_format_that_is_switched_off_cannot_be_chosen_for_a_tenant(
    amys: Client, root: Client, cast: Cast, wire: Wire
) -> None:
    with override_settings(ASSISTANT_TENANT_WIRE_FORMATS=["chat-completions"]):
        assert "ASSISTANT_TENANT_WIRE_FORMATS" in add(amys, cast, wire_format=wire.name)
        add(root, cast, wire_format=wire.name, tenant="")
    assert Provider.objects.get(name="New").tenant is None


def test_a_test_asks_through_the_wire(amys: Client, fake_provider: FakeProvider, row: Provider, wire: Wire) -> None:
    fake_provider.queue(wire.say("Yes."))
    page = amys.post(f"{LIST}{row.pk}/test/", follow=True).content.decode()
    count = "2 models" if wire.name == "google" else "1 model"
    assert f"Own answers with the model test-model. It lists {count}." in page
    paths = {request.path.partition("?")[0] for request in fake_provider.requests}
    assert paths == {
        "/v1/models",
        {"anthropic": "/v1/messages"}.get(wire.name, "/v1/models/test-model:streamGenerateContent"),
    }


def test_importing_the_providers_package_takes_none_of_its_servers_time(
    amys: Client, fake_provider: FakeProvider, row: Provider, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    model = model_class(wire.name)
    probing = provider_probe._probing

    class Clients(LazyModule):
        async def get(self) -> ModuleType:
            done.append("import")
            return await super().get()

    def timed(*args: Any) -> Any:
        done.append("time")
        return probing(*args)

    monkeypatch.setattr(model, "clients", Clients(model.clients._name))
    monkeypatch.setattr(provider_probe, "_probing", timed)
    fake_provider.queue(wire.say("Yes."))
    assert "Own answers" in amys.post(f"{LIST}{row.pk}/test/", follow=True).content.decode()
    assert "time" in done and done.index("import") < done.index("time")


def test_a_failed_test_has_the_providers_reason_without_the_key(
    amys: Client, fake_provider: FakeProvider, row: Provider, wire: Wire
) -> None:
    fake_provider.queue(wire.failed(401, f"Invalid credential {SECRET}"))
    page = amys.post(f"{LIST}{row.pk}/test/", follow=True).content.decode()
    assert "Invalid credential" in page and "status 401" in page and SECRET not in page


def test_a_server_that_cannot_be_reached_or_asked_is_said(amys: Client, cast: Cast, wire: Wire) -> None:
    gone = make_provider(cast.acme, base_url="http://127.0.0.1:9/v1", wire_format=wire.name)
    assert "it refuses connections" in amys.post(f"{LIST}{gone.pk}/test/", follow=True).content.decode()
    inner = make_provider(cast.acme, base_url="https://10.0.0.1/v1", wire_format=wire.name)
    assert "private or special network" in amys.post(f"{LIST}{inner.pk}/test/", follow=True).content.decode()


def test_a_list_that_cannot_be_read_is_said(
    amys: Client, cast: Cast, fake_provider: FakeProvider, row: Provider
) -> None:
    fake_provider.listing = {"news": []}
    found = amys.get("/admin/assistant/assistant/models/", {"provider": row.pk, "tenant": cast.acme.pk}).json()
    assert found["models"] == [] and "lists no models" in str(found), found


def test_an_assistants_page_offers_the_models_of_the_provider(
    amys: Client, cast: Cast, row: Provider, wire: Wire
) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(provider=row)
    found = amys.get("/admin/assistant/assistant/models/", {"provider": row.pk, "tenant": cast.acme.pk}).json()
    assert found["models"] == (["gemini-a", "gemini-b"] if wire.name == "google" else ["fake"])
