"""The providers' pages: who uses one, a test with the provider's own reason, a new key that is tried first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from assistant.contrib.panel.services import provider_check
from assistant.models import AuditEntry, Provider
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.factories import make_assistant, make_provider, make_tenant
from tests.fake_provider import FakeProvider

SECRET = "sk-canary-553120"
LIST = "/admin/assistant/provider/"
MODELS = "/admin/assistant/assistant/models/"


@pytest.fixture(autouse=True)
def _on_this_machine() -> Any:
    with override_settings(DEBUG=True):  # the guard then allows the fake provider's address
        provider_check._lists.clear()
        yield


@pytest.fixture
def row(cast: Cast, fake_provider: FakeProvider) -> Provider:
    return make_provider(cast.acme, base_url=fake_provider.url, name="Own", api_key=SECRET)


def post(client: Client, row: Provider, page: str, **fields: str) -> str:
    return client.post(f"{LIST}{row.pk}/{page}/", fields, follow=True).content.decode()


def test_the_list_says_who_uses_a_provider(root: Client, cast: Cast) -> None:
    used = make_provider(None, base_url="https://llm.example.com/v1", name="Shared")
    make_provider(None, base_url="https://llm.example.com/v1", name="Idle")
    for tenant in (cast.acme, cast.globex):
        make_assistant(tenant, provider=used)
    page = root.get(LIST).content.decode()
    assert "2 assistants of 2 tenants" in page
    assert "nobody" in page
    own = root.get(f"{LIST}{used.pk}/change/").content.decode()
    assert "(acme/" in own
    assert "(globex/" in own


def test_a_change_is_signed(amys: Client, cast: Cast, row: Provider) -> None:
    form = {"name": "Own", "base_url": row.base_url, "default_model": "other", "new_api_key": "", "prices": "{}"}
    assert amys.post(f"{LIST}{row.pk}/change/", form).status_code == 302
    assert "by amy on" in amys.get(LIST).content.decode()
    assert "by amy on" in amys.get(f"{LIST}{row.pk}/change/").content.decode()


def test_a_tenants_default_is_not_deleted(root: Client, cast: Cast) -> None:
    used = make_provider(None, base_url="https://llm.example.com/v1")
    empty = make_tenant("empty", name="Empty Ltd", default_provider=used)
    page = root.post(f"{LIST}{used.pk}/delete/", {"post": "yes"}, follow=True).content.decode()
    assert "Empty Ltd, as its default" in page
    assert Provider.objects.filter(pk=used.pk).exists()
    empty.delete()


def test_the_list_makes_no_more_queries_for_more_providers(root: Client, cast: Cast) -> None:
    def count(rows: int) -> int:
        for _ in range(rows):
            make_assistant(cast.acme, provider=make_provider(None, base_url="https://llm.example.com/v1"))
        with CaptureQueriesContext(connection) as queries:
            root.get(LIST)
        return len(queries)

    count(1)
    assert count(1) == count(6)


def test_a_test_asks_the_provider(amys: Client, fake_provider: FakeProvider, row: Provider) -> None:
    page = post(amys, row, "test")
    assert "Own answers with the model test-model. It lists 1 model." in page
    assert {request.path for request in fake_provider.requests} == {"/v1/models", "/v1/chat/completions"}
    assert SECRET not in page


def test_a_failed_test_has_the_providers_reason_without_the_key(
    amys: Client, fake_provider: FakeProvider, row: Provider
) -> None:
    fake_provider.respond(401, {"error": {"message": f"Incorrect key {SECRET}, and <b>sk-another-secret</b>."}})
    page = post(amys, row, "test")
    assert "Incorrect key …" in page
    assert "status 401" in page
    assert SECRET not in page
    assert "sk-another" not in page
    assert "<b>" not in page.split("Incorrect key")[1][:80]


def test_an_error_in_a_stream_is_a_failure(amys: Client, fake_provider: FakeProvider, row: Provider) -> None:
    fake_provider.stream({"error": {"message": "The quota is used up."}})
    assert "The quota is used up." in post(amys, row, "test")


def test_a_provider_that_cannot_be_reached_is_said(amys: Client, cast: Cast) -> None:
    gone = make_provider(cast.acme, base_url="http://127.0.0.1:9/v1")
    assert "cannot be reached" in post(amys, gone, "test")


def test_a_tenants_provider_in_the_inner_network_is_not_asked(amys: Client, cast: Cast) -> None:
    inner = make_provider(cast.acme, base_url="https://10.0.0.1/v1")
    assert "private or special network" in post(amys, inner, "test")


def test_a_provider_that_does_not_answer_is_not_waited_for(
    amys: Client, fake_provider: FakeProvider, row: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_check, "SECONDS", 0.2)
    gate = fake_provider.gate()
    fake_provider.raw(gate, b"data: {}\n\n")
    try:
        assert "took too long" in post(amys, row, "test")
    finally:
        gate.release()


def test_a_key_that_works_replaces_the_old_one(amys: Client, fake_provider: FakeProvider, row: Provider) -> None:
    page = post(amys, row, "rotate", api_key="sk-new-canary")
    row.refresh_from_db()
    assert row.api_key == "sk-new-canary"
    assert "The key was replaced" in page
    assert "sk-new-canary" not in page
    assert {request.headers["authorization"] for request in fake_provider.requests} == {"Bearer sk-new-canary"}
    entry = AuditEntry.objects.get(action="provider.rotate_key")
    assert (entry.tenant, entry.target, entry.details) == (row.tenant, "Own", {})
    assert "by amy on" in page


def test_a_key_that_does_not_work_is_not_stored(amys: Client, fake_provider: FakeProvider, row: Provider) -> None:
    fake_provider.respond(401, {"error": {"message": "Wrong key."}})
    page = post(amys, row, "rotate", api_key="sk-wrong-canary")
    row.refresh_from_db()
    assert row.api_key == SECRET
    assert "Wrong key." in page
    assert "sk-wrong-canary" not in page
    assert not AuditEntry.objects.filter(action="provider.rotate_key").exists()


def test_another_tenants_provider_is_neither_asked_nor_changed(
    amys: Client, cast: Cast, fake_provider: FakeProvider
) -> None:
    rivals = make_provider(cast.globex, base_url=fake_provider.url, api_key=SECRET)
    shared = make_provider(None, base_url=fake_provider.url, api_key=SECRET)
    for other in (rivals, shared):
        for page in ("test", "rotate"):
            assert amys.post(f"{LIST}{other.pk}/{page}/", {"api_key": "x"}).status_code == 404
    assert amys.get(f"{LIST}{rivals.pk}/test/").status_code == 405
    assert "Choose a provider" in amys.get(MODELS, {"provider": rivals.pk, "tenant": cast.globex.pk}).content.decode()
    assert not fake_provider.requests


def test_the_models_of_the_chosen_provider_are_listed_once(
    amys: Client, cast: Cast, fake_provider: FakeProvider, row: Provider
) -> None:
    for query in ({"provider": row.pk}, {"provider": "", "tenant": cast.acme.pk}):
        found = json.loads(amys.get(MODELS, query).content)
        assert found == {"sentence": "It lists 1 model.", "models": ["fake"]}
    assert len(fake_provider.requests) == 1
    assert "models.js" in amys.get(f"/admin/assistant/assistant/{cast.support.pk}/change/").content.decode()


def test_a_list_that_failed_is_told_with_each_tenants_own_name_of_the_provider(root: Client, cast: Cast) -> None:
    for tenant, name in ((cast.acme, "Ours"), (cast.globex, "Theirs")):
        row = make_provider(tenant, name=name, base_url="http://127.0.0.1:9/v1", api_key=SECRET)
        said = json.loads(root.get(MODELS, {"provider": row.pk}).content)["sentence"]
        assert said.startswith(f"{name} lists no models: ")
    assert len(provider_check._lists) == 1


@pytest.mark.parametrize("pk", ["x", "9" * 30, "-1", "99999"])
def test_no_provider_has_no_models(amys: Client, pk: str) -> None:
    assert json.loads(amys.get(MODELS, {"provider": pk}).content)["models"] == []


def test_the_models_are_for_those_who_configure_assistants(cast: Cast, row: Provider) -> None:
    assert signed_in(cast.mallory).get(MODELS, {"provider": row.pk}).status_code in (302, 403)
    greta = signed_in(cast.greta).get(MODELS, {"provider": row.pk})
    assert json.loads(greta.content)["models"] == []


def test_an_assistants_model_is_tested(amys: Client, cast: Cast, fake_provider: FakeProvider, row: Provider) -> None:
    cast.support.model = "tiny"
    cast.support.save()
    page = amys.post(f"/admin/assistant/assistant/{cast.support.pk}/test/", follow=True).content.decode()
    assert "Own answers with the model tiny." in page
    assert amys.post(f"/admin/assistant/assistant/{cast.rival_support.pk}/test/").status_code == 404


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ('{"reasoning_effort": "low"}', ""),
        ('{"chat_template_kwargs": {"enable_thinking": false}}', ""),
        ('{"messages": []}', "These options cannot be set here: messages."),
        ('{"tools": [], "stream": false, "model": "x"}', "These options cannot be set here: model, stream, tools."),
        ("[1]", "The options must be a JSON object."),
        (f'{{"a": "{"x" * 9000}"}}', "The options may have at most 8 KiB together."),
        (f'{{"a": {"[" * 11}{"]" * 11}}}', "The options may have at most 10 levels."),
    ],
)
def test_kind_and_further_options_are_set_in_the_form(amys: Client, row: Provider, options: str, problem: str) -> None:
    form = {"name": "Own", "base_url": row.base_url, "default_model": "m", "kind": "kimi", "extra_body": options}
    response = amys.post(f"{LIST}{row.pk}/change/", form)
    row.refresh_from_db()
    if problem:
        assert problem in response.content.decode() and (row.kind, row.extra_body) == ("", {})
    else:
        assert response.status_code == 302 and (row.kind, row.extra_body) == ("kimi", json.loads(options))


def test_a_kind_that_does_not_exist_is_refused(amys: Client, row: Provider) -> None:
    form = {"name": "Own", "base_url": row.base_url, "default_model": "m", "kind": "acme-ai"}
    assert "not one of the available choices" in amys.post(f"{LIST}{row.pk}/change/", form).content.decode()
