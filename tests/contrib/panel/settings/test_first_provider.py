"""A tenant's first provider: saved, it answers for nobody; it is in use after a test that succeeds, or a choice."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, override_settings

from assistant.models import Assistant, AuditEntry, Provider, TenantLimits
from assistant.services.assistants.configuration import active_assistants, with_prompt
from assistant.services.assistants.provider_choice import choose_provider
from assistant.services.assistants.provider_use import assistants_of
from tests.base import Cast
from tests.factories import make_provider
from tests.fake_provider import FakeProvider

LIST = "/admin/assistant/provider/"


@pytest.fixture(autouse=True)
def _on_this_machine() -> Any:
    with override_settings(DEBUG=True, OPENAI_API_KEY="sk-deployment"):
        yield


def add(client: Client, cast: Cast, url: str, *, name: str = "Own", key: str = "sk-canary") -> Provider:
    form = {"tenant": str(cast.acme.pk), "name": name, "base_url": url, "default_model": "fake", "prices": "{}"}
    saved = client.post(f"{LIST}add/", {**form, "new_api_key": key})
    row = Provider.objects.get(name=name)
    # The page that says whether it is in use.
    assert saved["location"] == f"{LIST}{row.pk}/change/"
    return row


def answering(cast: Cast) -> set[str]:
    """Return what answers for Acme's assistants, as runs read it."""
    rows = with_prompt(Assistant.objects.filter(pk__in=[one.pk for one in active_assistants(tenant_id=cast.acme.pk)]))
    return {choose_provider(row).name for row in rows}


def page(client: Client, row: Provider, action: str = "change") -> str:
    address = f"{LIST}{row.pk}/{action}/"
    found = client.get(address) if action == "change" else client.post(address, follow=True)
    return found.content.decode()


def test_a_saved_provider_answers_for_nobody_and_says_what_it_will_get(
    amys: Client, cast: Cast, fake_provider: FakeProvider
) -> None:
    row = add(amys, cast, fake_provider.url)
    assert answering(cast) == {"OpenAI"} and not assistants_of(provider=row).exists()
    shown = page(amys, row)
    assert "Not in use yet." in shown and "127.0.0.1 gets what these assistants are asked" in shown
    assert "Set a cap of spend" in shown and f"/tenant/{cast.acme.pk}/spend/" in shown
    TenantLimits.objects.create(tenant=cast.acme, tenant_cost_per_month=50)
    assert "Set a cap of spend" not in page(amys, row)


def test_what_is_sent_is_told_until_a_key_is_in_use(amys: Client, cast: Cast, fake_provider: FakeProvider) -> None:
    rows = [add(amys, cast, fake_provider.url, name=name, key=name[:-1]) for name in ("1", "sk-2", "sk-3")]
    assert told(amys, rows) == [False, True, True]
    page(amys, rows[1], "use")
    assert told(amys, rows) == [False, False, False]
    assert ["Not in use yet." in page(amys, row) for row in rows] == [True, False, True]


def told(client: Client, rows: list[Provider]) -> list[bool]:
    return ["gets what these assistants are asked" in page(client, row) for row in rows]


def test_a_test_that_succeeds_puts_it_into_use(amys: Client, cast: Cast, fake_provider: FakeProvider) -> None:
    row = add(amys, cast, fake_provider.url)
    page(amys, row, "test")
    assert answering(cast) == {"Own"} and assistants_of(provider=row).exists()
    assert "Not in use yet." not in page(amys, row)
    assert AuditEntry.objects.get(action="provider.use").details == {"tested": True}


def test_a_test_that_fails_does_not(amys: Client, cast: Cast, fake_provider: FakeProvider) -> None:
    row = add(amys, cast, fake_provider.url)
    fake_provider.respond(401, {"error": {"message": "Wrong key."}})
    assert "Wrong key." in page(amys, row, "test")
    assert answering(cast) == {"OpenAI"}


def test_it_can_be_put_into_use_without_a_test(amys: Client, cast: Cast, fake_provider: FakeProvider) -> None:
    row = add(amys, cast, fake_provider.url)
    assert "The provider is in use." in page(amys, row, "use")
    assert (answering(cast), fake_provider.requests) == ({"Own"}, [])
    assert AuditEntry.objects.get(action="provider.use").details == {"tested": False}


def test_a_chosen_provider_answers_untested(amys: Client, cast: Cast, fake_provider: FakeProvider) -> None:
    cast.acme.default_provider = add(amys, cast, fake_provider.url)
    cast.acme.save()
    assert answering(cast) == {"Own"}


def test_another_tenants_admin_cannot_put_it_into_use(cast: Cast, amys: Client) -> None:
    row = make_provider(cast.globex, base_url="https://llm.example.com/v1", is_untested=True)
    assert amys.post(f"{LIST}{row.pk}/use/").status_code in (302, 403, 404)
    assert amys.get(f"{LIST}{row.pk}/use/").status_code in (302, 403, 404, 405)
    row.refresh_from_db()
    assert row.is_untested


def test_a_second_provider_that_is_saved_changes_nothing(amys: Client, cast: Cast, fake_provider: FakeProvider) -> None:
    make_provider(cast.acme, base_url=fake_provider.url, name="First")
    add(amys, cast, fake_provider.url)
    assert answering(cast) == {"First"}
