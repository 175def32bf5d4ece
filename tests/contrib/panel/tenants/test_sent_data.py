"""The page that says to which providers a tenant's assistants send what, before the first key."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.panel.reports.sent_data import kept_for, recipients_of
from assistant.models import Retention, TenantLimits
from tests.base import Cast
from tests.factories import make_assistant, make_provider

pytestmark = pytest.mark.django_db


def page(client: Client, cast: Cast) -> str:
    return client.get(f"/admin/assistant/tenant/{cast.acme.pk}/sent-data/").content.decode()


def test_each_provider_is_named_with_its_host_and_whom_it_answers(amys: Client, cast: Cast) -> None:
    first = make_provider(cast.acme, base_url="https://llm.example.com/v1", name="First", default_model="large")
    second = make_provider(cast.acme, base_url="https://other.example.org/v1", name="Second", default_model="small")
    cast.support.provider = first
    cast.support.fallback_provider = second
    cast.support.save()
    (answers, takes_over) = recipients_of(cast.acme)
    assert (answers.name, answers.model, answers.host, answers.assistants) == (
        "First", "large", "llm.example.com", (cast.support.name,),
    )  # fmt: skip
    assert (takes_over.name, takes_over.assistants, takes_over.takes_over) == ("Second", (), (cast.support.name,))
    text = page(amys, cast)
    assert "llm.example.com" in text and "other.example.org" in text
    assert "is in your contract" in text


def test_nothing_is_said_to_leave_where_nothing_does(amys: Client, cast: Cast) -> None:
    assert "no provider gets any of this" in page(amys, cast)


def test_a_rivals_provider_is_never_named(amys: Client, cast: Cast) -> None:
    theirs = make_provider(cast.globex, base_url="https://rival.example.com/v1", name="Rival's")
    cast.support.fallback_provider = theirs
    cast.support.save()
    assert "rival.example.com" not in page(amys, cast)


def test_the_cap_and_the_periods_are_those_that_hold(amys: Client, cast: Cast) -> None:
    assert "any sum" in page(amys, cast)
    TenantLimits.objects.create(tenant=cast.acme, tenant_cost_per_month=50)
    Retention.objects.create(tenant=cast.acme, conversations=30)
    text = page(amys, cast)
    assert "A month costs at most USD 50" in text and "30 days" in text
    assert dict(kept_for(cast.acme))["conversations"] == 30


def test_more_assistants_and_providers_take_no_more_queries(root: Client, cast: Cast) -> None:
    def count(number: int) -> int:
        for _ in range(number):
            own = make_provider(cast.acme, base_url="https://llm.example.com/v1")
            other = make_provider(cast.acme, base_url="https://other.example.org/v1")
            make_assistant(cast.acme, provider=own, fallback_provider=other)
        with CaptureQueriesContext(connection) as queries:
            page(root, cast)
        return len(queries)

    few = count(1)
    assert count(4) == few
