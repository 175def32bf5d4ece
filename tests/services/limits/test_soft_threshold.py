"""From a part of a tenant's limit of cost on, another model answers; the run and its trace say so."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.panel.services.prompt_tests.simulation import simulate
from assistant.contrib.sub_agents.extension import DelegatingToolset, delegates_of
from assistant.core.values.messages import Usage
from assistant.models import Assistant, Provider, Run, TenantLimits, UsageEntry
from assistant.services.limits.quota_ledger import reset_use
from assistant.services.runs.opening.plan_builder import plan_of
from tests.base import Cast
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant, make_provider
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.limits.test_quota_ledger import begin, member, refused
from tests.services.limits.test_quotas_at_doors import key_of_alice, rest

URL = "https://llm.example.com/v1"


@pytest.fixture
def large(cast: Cast) -> Provider:
    """The provider of Acme's assistant."""
    provider = make_provider(base_url=URL, name="Large", default_model="large-1")
    Assistant.objects.filter(pk=cast.support.pk).update(provider=provider)
    return provider


def soften(cast: Cast, *, spent: float, **fields: object) -> None:
    """Limit Acme's cost to 10 a month, with another model from 80 % on."""
    rows = {"tenant_cost_per_month": 10, "soft_percent": 80, **fields}
    TenantLimits.objects.update_or_create(tenant=cast.acme, defaults=rows)
    UsageEntry.objects.filter(tenant=cast.acme).delete()
    UsageEntry.objects.create(tenant=cast.acme, model="m", cost=int(spent * 1_000_000))
    reset_use(tenant_id=cast.acme.pk)


def answers(cast: Cast) -> tuple[str, str, str]:
    """Return the provider and the model of a new run of Alice's, and in whose place they answer."""
    opened = begin(cast.alice.pk)
    assert opened.setup is not None
    run = Run.objects.get(pk=opened.key.pk)
    choice = opened.setup.provider
    assert (run.provider_name, run.model) == (choice.name, choice.model)
    assert opened.setup.answering.replaced == run.replaced_model
    return choice.name, choice.model, run.replaced_model


@pytest.mark.parametrize(("spent", "is_soft"), [(0, False), (7.99, False), (8, True), (9.99, True)])
def test_another_model_answers_from_the_threshold_on(cast: Cast, large: Provider, spent: float, is_soft: bool) -> None:
    soften(cast, spent=spent, soft_model="small-1")
    assert answers(cast) == (("Large", "small-1", "Large, large-1") if is_soft else ("Large", "large-1", ""))


def test_at_the_limit_itself_runs_are_refused_as_before(cast: Cast, large: Provider) -> None:
    soften(cast, spent=10, soft_model="small-1")
    assert refused(cast.alice.pk).quota == "cost_per_month"


@pytest.mark.parametrize("model", ["", "tiny-2"])
def test_another_provider_can_answer(cast: Cast, large: Provider, model: str) -> None:
    small = make_provider(cast.acme, base_url=URL, name="Small", default_model="tiny-1")
    soften(cast, spent=9, soft_provider=small, soft_model=model)
    assert answers(cast) == ("Small", model or "tiny-1", "Large, large-1")


def test_its_prices_hold_then(cast: Cast, large: Provider) -> None:
    prices = {"tiny-1": {"input": 3, "output": 0}}
    small = make_provider(base_url=URL, name="Small", default_model="tiny-1", prices=prices)
    soften(cast, spent=9, soft_provider=small)
    setup = begin(cast.alice.pk).setup
    assert setup is not None
    assert setup.settings.prices.priced(Usage(1_000), "tiny-1").cost == 3_000


def test_a_provider_of_another_tenant_never_answers(cast: Cast, large: Provider) -> None:
    foreign = make_provider(cast.globex, base_url=URL, name="Foreign")
    soften(cast, spent=9, soft_provider=foreign)
    assert answers(cast) == ("Large", "large-1", "")


@pytest.mark.parametrize("fields", [{"soft_percent": None}, {"tenant_cost_per_month": None}])
def test_without_a_threshold_or_a_limit_the_own_model_answers(cast: Cast, large: Provider, fields: Any) -> None:
    soften(cast, spent=9, **{"soft_model": "small-1", **fields})
    assert answers(cast) == ("Large", "large-1", "")


def test_what_the_run_itself_reserves_does_not_count(cast: Cast, large: Provider) -> None:
    Provider.objects.filter(pk=large.pk).update(prices={"": {"input": 1000, "output": 1000}})
    soften(cast, spent=7.99, soft_model="small-1")
    assert answers(cast)[2] == ""


def test_another_tenants_threshold_is_its_own(cast: Cast, large: Provider) -> None:
    soften(cast, spent=1, soft_model="small-1")
    TenantLimits.objects.create(
        tenant=cast.globex, tenant_cost_per_month=Decimal("0.01"), soft_percent=1, soft_model="small-1"
    )
    UsageEntry.objects.create(tenant=cast.globex, model="m", cost=9_000)
    assert answers(cast) == ("Large", "large-1", "")


def test_assistants_that_are_asked_answer_with_it_too(cast: Cast, large: Provider) -> None:
    helper = make_assistant(cast.acme, "helper", provider=make_provider(base_url=URL, name="Huge"))
    let_ask(cast.support, helper)
    small = make_provider(base_url=URL, name="Small", default_model="tiny-1")
    soften(cast, spent=9, soft_provider=small)
    opened = begin(cast.alice.pk)
    assert opened.setup is not None
    plan = plan_of(key=opened.key, setup=opened.setup, member=member(cast.alice.pk))
    inner = plan.toolset._toolset  # type: ignore[attr-defined]
    assert isinstance(inner, DelegatingToolset)
    assert inner._soft == opened.setup.answering.soft
    for soft, name in ((opened.setup.answering.soft, "Small"), (None, "Huge")):
        found = delegates_of(tenant_id=cast.acme.pk, assistant_id=cast.support.pk, user_id=cast.amy.pk, soft=soft)
        assert [one.provider.name for one in found] == [name]


def test_a_simulation_says_so(cast: Cast, large: Provider) -> None:
    soften(cast, spent=9, soft_model="small-1")
    found = simulate(member=member(cast.alice.pk), assistant_slug="support")
    assert found is not None
    assert found.setup.provider.sentence == "Large, small-1 (the tenant's soft threshold of cost is reached)"


def test_only_tenants_with_a_threshold_pay_for_it_with_a_query(cast: Cast, large: Provider) -> None:
    def queries(spent: float, **fields: object) -> int:
        soften(cast, spent=spent, **fields)
        begin(cast.alice.pk)
        with CaptureQueriesContext(connection) as asked:
            begin(cast.alice.pk)
        return len([one for one in asked if "SAVEPOINT" not in one["sql"]])

    small = make_provider(base_url=URL, name="Small", default_model="tiny-1")
    without = queries(9, soft_percent=None)
    assert queries(1, soft_percent=80, soft_provider=small) == without + 1
    assert queries(9, soft_percent=80, soft_provider=small) == without + 2


@pytest.mark.django_db(transaction=True)
def test_the_provider_is_asked_for_that_model_and_the_run_shows_both(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    soften(cast, spent=9, soft_model="small-1")
    assert rest(uvicorn_server.url, key_of_alice(cast)).status_code in {200, 201}
    (request,) = fake_provider.requests
    assert request.json["model"] == "small-1"
    client = Client()
    client.force_login(cast.root)
    page = client.get(f"/admin/assistant/run/{Run.objects.get().pk}/change/").content.decode()
    assert f"{provider.name}, {provider.default_model}" in page
