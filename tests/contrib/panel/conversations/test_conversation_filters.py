"""The list of conversations: by rating, failures, tools, cost, and within the user's tenants."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.models import Conversation, Feedback, Run, ToolCall, UsageEntry
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.factories import make_conversation, make_message, make_run

LIST = "/admin/assistant/conversation/"
FILTERS = [
    {"rating": "down"},
    {"failed": "run"},
    {"failed": "call"},
    {"tool": "calculate"},
    {"cost_above": "0.1"},
]


def titles(client: Client, **filters: str) -> set[str]:
    return {str(row) for row in client.get(LIST, filters).context["cl"].queryset}


@pytest.fixture
def odd(cast: Cast) -> Conversation:
    """A conversation with all that the filters look for, beside one with none of it, and a rival's with all of it."""
    say_something(cast)
    found = []
    for user, assistant in ((cast.alice, cast.support), (cast.mallory, cast.rival_support)):
        talk = make_conversation(user, assistant, title="Odd")
        run = make_run(talk, status=Run.Status.FAILED)
        answer = make_message(talk, "assistant", "No.", run=run)
        tenant = talk.tenant
        Feedback.objects.create(tenant=tenant, user=user, message=answer, rating=-1)
        ToolCall.objects.create(tenant=tenant, run=run, call_id="c", name="calculate", status=ToolCall.Status.ERROR)
        for cost in (60_000, 50_000):
            UsageEntry.objects.create(tenant=tenant, run=run, model="m", cost=cost)
        found.append(talk)
    return found[0]


@pytest.mark.parametrize("filters", FILTERS)
def test_a_filter_finds_what_it_names_in_the_users_tenants(
    amys: Client, root: Client, odd: Conversation, filters: dict[str, str]
) -> None:
    assert [row.pk for row in amys.get(LIST, filters).context["cl"].queryset] == [odd.pk]
    assert root.get(LIST, filters).context["cl"].queryset.count() == 2


def test_filters_and_words_of_messages_narrow_each_other(amys: Client, odd: Conversation) -> None:
    assert titles(amys, rating="up") == {"Opening hours"}
    assert titles(amys, rating="down", q="nine") == set()
    assert titles(amys, rating="up", q="nine") == {"Opening hours"}
    assert titles(amys, cost_above="1") == set()
    assert titles(amys, cost_above="x", rating="x", failed="x") == {"Odd", "Opening hours"}


def test_the_list_makes_no_more_queries_for_many_conversations(amys: Client, odd: Conversation, cast: Cast) -> None:
    filters = {name: value for one in FILTERS for name, value in one.items()}
    counts = []
    for number in (1, 6):
        for _ in range(number):
            say_something(cast)
        with CaptureQueriesContext(connection) as queries:
            amys.get(LIST)
            amys.get(LIST, filters)
        counts.append(len(queries))
    assert counts[0] == counts[1]
