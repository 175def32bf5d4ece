"""A new API key's form offers the people of one tenant, which is asked for first, and searches many of them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.models import ApiKey, Membership
from tests.base import Cast
from tests.factories import make_tenant

ADD = "/admin/assistant/apikey/add/"


def give_many(cast: Cast, count: int) -> None:
    made = User.objects.bulk_create(User(username=f"person-{number:04}") for number in range(count))
    Membership.objects.bulk_create(Membership(tenant=cast.acme, user=user) for user in made)


def form_of(client: Client, **query: Any) -> Any:
    return client.get(ADD, query).context["adminform"].form


def test_operators_choose_the_tenant_first(root: Client, cast: Cast) -> None:
    page = root.get(ADD)
    assert "adminform" not in page.context
    assert {tenant.slug for tenant in page.context["tenants"]} == {"acme", "globex"}
    assert {tenant.slug for tenant in root.get(ADD, {"q": "glob"}).context["tenants"]} == {"globex"}
    people = form_of(root, tenant=cast.acme.pk).fields["user"].queryset
    assert {person.username for person in people} == {"alice", "amy"}


def test_more_tenants_than_a_page_lists_are_searched(root: Client, cast: Cast) -> None:
    for _ in range(60):
        make_tenant()
    page = root.get(ADD)
    assert len(page.context["tenants"]) == 60
    assert "There are more" in page.content.decode()


def test_a_tenants_admin_sees_its_form_at_once(amys: Client, cast: Cast) -> None:
    assert {person.username for person in form_of(amys).fields["user"].queryset} == {"alice", "amy"}
    assert "mallory" not in amys.get(ADD, {"tenant": cast.globex.pk}).content.decode()


def test_many_people_are_typed_with_suggestions(amys: Client, cast: Cast) -> None:
    give_many(cast, 1_505)
    page = amys.get(ADD).content.decode()
    assert page.count("<option") < 600
    assert '<option value="person-0001">' in page
    once = form_of(amys)["once"].initial
    given = {"tenant": cast.acme.pk, "name": "robot", "scopes": ["chat"], "once": once}
    wrong = amys.post(ADD, {**given, "user": "mallory"})
    assert wrong.status_code == 200
    assert "user" in wrong.context["adminform"].form.errors
    assert amys.post(ADD, {**given, "user": "person-1504"}).status_code == 200
    assert ApiKey.objects.get().user.get_username() == "person-1504"


def test_the_form_makes_no_more_queries_for_many_people(amys: Client, cast: Cast) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            amys.get(ADD)
        return len(queries)

    count()
    few = count()
    give_many(cast, 200)
    assert count() <= few
