"""The price list: which price holds on which day, and that what was used keeps its cost."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client

from assistant.contrib.price_list.models import ModelPrice
from assistant.contrib.sub_agents.extension import delegates_of
from assistant.core.values.messages import Usage
from assistant.models import Assistant, AuditEntry, Provider, Run, UsageEntry
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.contrib.panel.home.test_frame import pick
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant, make_provider
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.limits.test_quota_ledger import begin
from tests.services.limits.test_quotas_at_doors import key_of_alice, rest

TODAY = datetime.now(UTC).date()
USED = Usage(1_000, 100, cached_input_tokens=200)
URL = "https://llm.example.com/v1"


def price(model: str, each: float, *, since: date = TODAY, provider: Provider | None = None) -> ModelPrice:
    tenant = None if provider is None else provider.tenant
    return ModelPrice.objects.create(
        tenant=tenant, provider=provider, model=model, input=each, output=0, valid_from=since
    )


def use_provider(cast: Cast, *, own: bool = False, **fields: object) -> Provider:
    provider = make_provider(cast.acme if own else None, base_url=URL, **fields)
    Assistant.objects.filter(pk=cast.support.pk).update(provider=provider)
    return provider


def cost(cast: Cast, model: str = "gpt-4.1-2025", on: date | None = None) -> int:
    """Return what a thousand input tokens of a run of Alice's would cost."""
    setup = begin(cast.alice.pk).setup
    assert setup is not None
    return setup.settings.prices.priced(Usage(1_000), model, on=on).cost


def test_a_price_holds_from_its_day_on_until_the_next(cast: Cast) -> None:
    use_provider(cast)
    for each, days in ((1, -20), (2, 0), (3, 10)):
        price("gpt-4.1", each, since=TODAY + timedelta(days=days))
    found = [cost(cast, on=TODAY + timedelta(days=days)) for days in (-21, -20, -1, 0, 9, 10, 500)]
    assert found == [0, 1_000, 1_000, 2_000, 2_000, 3_000, 3_000]
    assert cost(cast) == 2_000


def test_cached_input_and_output_have_their_prices(cast: Cast) -> None:
    use_provider(cast)
    row = price("gpt", 2)
    for cached, expected in ((None, 1_000 * 2 + 800), (Decimal("0.5"), 800 * 2 + 100 + 800)):
        ModelPrice.objects.filter(pk=row.pk).update(cached_input=cached, output=8)
        setup = begin(cast.alice.pk).setup
        assert setup is not None
        assert setup.settings.prices.priced(USED, "gpt-4.1").cost == expected


def test_writing_to_a_cache_has_its_price(cast: Cast) -> None:
    use_provider(cast)
    row = price("claude", 2)
    used = Usage(1_000, 0, cached_input_tokens=200, cache_write_tokens=400)
    for written, expected in ((None, 600 * 2 + 1_000), (Decimal(5), 600 * 2 + 2_000), (Decimal(0), 600 * 2)):
        ModelPrice.objects.filter(pk=row.pk).update(cache_write=written)
        setup = begin(cast.alice.pk).setup
        assert setup is not None
        assert setup.settings.prices.priced(used, "claude-sonnet").cost == expected


def test_the_provider_and_then_the_longest_name_decide(cast: Cast) -> None:
    provider = use_provider(cast)
    other = make_provider(base_url=URL)
    price("gpt-4.1", 5, provider=other)
    price("gpt", 1)
    assert cost(cast) == 1_000
    price("gpt-4", 2)
    assert cost(cast) == 2_000
    price("", 3, provider=provider)
    assert cost(cast) == 3_000
    price("gpt-4.1", 4, provider=provider)
    assert (cost(cast), cost(cast, "another")) == (4_000, 3_000)


@pytest.mark.parametrize(("own", "expected"), [(False, 1_000), (True, 7_000)])
def test_a_tenants_own_prices_come_before_those_of_any_provider(cast: Cast, own: bool, expected: int) -> None:
    provider = use_provider(
        cast, own=own, prices={"gpt": {"input": 7, "output": 7}, "other": {"input": 8, "output": 8}}
    )
    price("gpt", 1)
    price("third", 2)
    assert (cost(cast), cost(cast, "other"), cost(cast, "third")) == (expected, 8_000, 2_000)
    price("gpt", 9, provider=provider)
    assert cost(cast) == 9_000


def test_the_list_holds_for_the_environments_provider(cast: Cast, settings: object) -> None:
    settings.OPENAI_API_KEY = "sk-test"  # type: ignore[attr-defined]
    settings.ASSISTANT_MODEL_PRICES = {"gpt": {"input": 4, "output": 4}}  # type: ignore[attr-defined]
    assert cost(cast) == 4_000
    price("gpt", 5)
    assert (cost(cast), cost(cast, on=TODAY - timedelta(days=1))) == (5_000, 4_000)


def test_prices_of_another_tenants_provider_are_not_used(cast: Cast) -> None:
    use_provider(cast)
    price("gpt", 5, provider=make_provider(cast.globex, base_url=URL))
    assert cost(cast) == 0


def test_assistants_that_are_asked_have_the_list_too(cast: Cast) -> None:
    use_provider(cast)
    helper = make_assistant(cast.acme, "helper", provider=make_provider(base_url=URL))
    let_ask(cast.support, helper)
    price("gpt", 5)
    (found,) = delegates_of(tenant_id=cast.acme.pk, assistant_id=cast.support.pk, user_id=cast.amy.pk)
    assert found.settings.prices.priced(Usage(1_000), "gpt").cost == 5_000


@pytest.mark.django_db(transaction=True)
def test_a_change_of_the_list_changes_no_cost_of_before(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key, row = key_of_alice(cast), price("", 1_000, provider=provider)
    for each in (1_000, 2_000):
        ModelPrice.objects.filter(pk=row.pk).update(input=each)
        fake_provider.reply("Hi", usage={"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11})
        assert rest(uvicorn_server.url, key).status_code in {200, 201}
    ModelPrice.objects.all().delete()
    assert list(UsageEntry.objects.order_by("pk").values_list("cost", flat=True)) == [10_000, 20_000]
    assert Run.objects.count() == 2


def form(**changes: object) -> dict[str, object]:
    return {"provider": "", "model": "gpt", "input": "2", "output": "8", "valid_from": "2026-01-01", **changes}


def test_operators_edit_the_list_and_each_change_is_audited(cast: Cast) -> None:
    root = signed_in(cast.root)
    assert root.post("/admin/assistant_price_list/modelprice/add/", form()).status_code == 302
    row = ModelPrice.objects.get()
    assert root.post(f"/admin/assistant_price_list/modelprice/{row.pk}/change/", form(input="3")).status_code == 302
    assert root.post(f"/admin/assistant_price_list/modelprice/{row.pk}/delete/", {"post": "yes"}).status_code == 302
    entries = list(AuditEntry.objects.order_by("pk").values_list("action", "details"))
    assert [action for action, _ in entries] == ["modelprice.add", "modelprice.change", "modelprice.delete"]
    assert entries[1][1]["values"]["input"] == ["2.000000", "3"]


def test_a_price_belongs_to_the_tenant_of_its_provider(cast: Cast) -> None:
    root = signed_in(cast.root)
    for tenant in (cast.acme, None):
        provider = make_provider(tenant, base_url=URL)
        assert root.post("/admin/assistant_price_list/modelprice/add/", form(provider=provider.pk)).status_code == 302
        assert ModelPrice.objects.get(provider=provider).tenant == tenant


def test_a_picked_tenant_hides_the_prices_of_other_tenants_providers_only(cast: Cast) -> None:
    price("for-all", 1)
    price("of-acme", 1, provider=make_provider(cast.acme, base_url=URL))
    price("of-globex", 1, provider=make_provider(cast.globex, base_url=URL))
    root = signed_in(cast.root)
    pick(root, "acme")
    page = root.get("/admin/assistant_price_list/modelprice/").content.decode()
    assert ["for-all" in page, "of-acme" in page, "of-globex" in page] == [True, True, False]


@pytest.mark.parametrize("changes", [{"input": "-1"}, {"model": ""}, {"output": "1000001"}, {"valid_from": "soon"}])
def test_a_price_that_is_none_is_refused(cast: Cast, changes: dict[str, object]) -> None:
    page = signed_in(cast.root).post("/admin/assistant_price_list/modelprice/add/", form(**changes))
    assert page.status_code == 200
    assert not ModelPrice.objects.exists()


def test_only_operators_see_the_list(cast: Cast) -> None:
    row = price("gpt", 1, provider=make_provider(cast.acme, base_url=URL))
    for client, status in ((signed_in(cast.amy), 403), (signed_in(cast.greta), 403), (signed_in(cast.alice), 302)):
        assert client.get("/admin/assistant_price_list/modelprice/").status_code == status
        assert client.get(f"/admin/assistant_price_list/modelprice/{row.pk}/change/").status_code in {302, 403}
        assert client.post("/admin/assistant_price_list/modelprice/add/", form()).status_code == status
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast.root)
    assert strict.post("/admin/assistant_price_list/modelprice/add/", form()).status_code == 403
    assert ModelPrice.objects.count() == 1
