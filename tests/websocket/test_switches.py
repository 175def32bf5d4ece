"""Which tools a tenant's run offers: by tenant, assistant, user and call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from assistant.models import Assistant, Tenant
from assistant.providers import ScriptedModel
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.factories import make_assistant, switch_tool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]


@tool
def find_order(customer: str) -> int:
    """Find a customer's last order."""
    return 7


@tool(permission="auth.view_user")
def find_user(name: str) -> str:
    """Find a user."""
    return name


@pytest.fixture(autouse=True)
def _catalogue() -> Iterator[None]:
    with catalogue.using(Registry([find_order, find_user])):
        yield


def offered(tenant: Tenant, user: Any, assistant: Assistant, *calls: dict[str, Any]) -> list[list[str]]:
    """The names of the tools that the model gets, in each call of one conversation."""
    model = ScriptedModel(["ok", "Title", *["ok"] * len(calls)])
    with answer_with(model), ChatTester(tenant, user, assistant.slug) as chat:
        for props in calls or ({},):
            chat.ask("?", forwardedProps=props)
    # Titles are made without tools, and by a prompt of their own.
    asked = [request for request in model.requests if request.messages[-1].content == "?"]
    return [[tool.name for tool in request.tools] for request in asked]


def test_the_switch_of_a_tenant(cast: Cast) -> None:
    switch_tool(cast.acme, "find_order")
    assert offered(cast.acme, cast.alice, cast.support) == [["find_order"]]
    assert offered(cast.globex, cast.mallory, cast.rival_support) == [[]]


def test_the_switch_of_an_assistant(cast: Cast) -> None:
    expert = make_assistant(cast.acme, "expert")
    switch_tool(cast.acme, "find_order")
    switch_tool(cast.acme, "find_order", "off", assistant=cast.support)
    assert offered(cast.acme, cast.alice, cast.support) == [[]]
    assert offered(cast.acme, cast.alice, expert) == [["find_order"]]


def test_the_switch_of_a_user(cast: Cast) -> None:
    switch_tool(cast.acme, "find_user")
    cast.amy.user_permissions.add(Permission.objects.get(codename="view_user"))
    assert offered(cast.acme, cast.alice, cast.support) == [[]]
    assert offered(cast.acme, cast.amy, cast.support) == [["find_user"]]


def test_the_switch_of_a_call(cast: Cast) -> None:
    switch_tool(cast.acme, "find_order")
    calls: list[dict[str, Any]] = [{}, {"allowedTools": []}, {}]
    assert offered(cast.acme, cast.alice, cast.support, *calls) == [["find_order"], [], ["find_order"]]
