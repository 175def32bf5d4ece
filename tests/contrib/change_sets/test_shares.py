"""Sets that a share of the conversations has: who is inside stays inside, and no other run enters the app."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assistant.contrib.change_sets.models import ChangeSet
from assistant.contrib.change_sets.services.acts import submit, take_back, widen
from assistant.contrib.change_sets.services.items import ChangeSetRefused
from assistant.contrib.change_sets.shares import in_share
from assistant.models import Assistant, Provider, Run
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.run_input import RunInput, TextMessage
from tests.agui import text_of
from tests.base import Cast
from tests.contrib.change_sets.sets import NEW_MODEL, NEW_PROMPT, TOOL_OFF, change_set, prompt_of
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.limits.test_quota_ledger import member
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)
ROLLOUT = "assistant.contrib.change_sets.rollout"


def conversation(row: ChangeSet, *, inside: bool) -> uuid.UUID:
    """Return the id of a conversation that is inside or outside of the set's share."""
    ids: Iterator[uuid.UUID] = iter(uuid.uuid4, None)
    return next(pk for pk in ids if in_share(change_set=row.pk, conversation=pk, percent=row.percent) is inside)


def opened(cast: Cast, thread: uuid.UUID, who: int | None = None) -> OpenedRun:
    given = RunInput(thread, str(uuid.uuid4()), TextMessage(str(uuid.uuid4()), "Hello"))
    return open_run(member=member(who or cast.alice.pk), assistant_slug="support", given=given, owner="here")


def test_a_conversation_stays_where_it_is_and_a_larger_share_has_it_too() -> None:
    ids = [uuid.UUID(int=number) for number in range(4_000)]
    shares = {
        percent: {pk for pk in ids if in_share(change_set=7, conversation=pk, percent=percent)}
        for percent in (1, 10, 50, 99, 100)
    }
    assert shares[1] < shares[10] < shares[50] < shares[99] < shares[100] == set(ids)
    assert 320 < len(shares[10]) < 480
    assert shares[10] != {pk for pk in ids if in_share(change_set=8, conversation=pk, percent=10)}


async def test_inside_the_share_prompt_model_and_tools_are_the_sets(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "current_time")
    draft = await sync_to_async(change_set)(cast, NEW_PROMPT, NEW_MODEL, TOOL_OFF, percent=40)
    row = await sync_to_async(submit)(change_set=draft, actor=cast.root)
    fake_provider.call("current_time", {})
    fake_provider.reply("Inside.")
    fake_provider.reply("Outside.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hello", thread=str(conversation(row, inside=True)))
        await socket.ask("Hello", thread=str(conversation(row, inside=False)))
    async with open_socket(uvicorn_server.url, user=cast.mallory, tenant="globex") as socket:
        await socket.ask("Hello", thread=str(conversation(row, inside=True)))
    inside, _after, outside, rivals = [request.json for request in fake_provider.requests]
    assert text_of(frames) == "Inside."
    assert [one["messages"][0]["content"] for one in (inside, outside, rivals)] == [
        "You are brief.",
        "You are Acme's support assistant.",
        "You are Globex's support assistant.",
    ]
    assert [one["model"] for one in (inside, outside, rivals)] == ["large", "test-model", "test-model"]
    offered = [[tool["function"]["name"] for tool in one.get("tools", [])] for one in (inside, outside)]
    assert ("current_time" in offered[0], "current_time" in offered[1]) == (False, True)
    runs = [one async for one in Run.objects.order_by("pk").values_list("model", "prompt_version__text")]
    assert runs[:2] == [("large", "You are brief."), ("test-model", "You are Acme's support assistant.")]


def test_a_widened_share_becomes_the_tenants_own_and_is_taken_back(cast: Cast) -> None:
    row = submit(change_set=change_set(cast, NEW_PROMPT, NEW_MODEL, TOOL_OFF, percent=10), actor=cast.root)
    assert prompt_of(cast.support) == "You are Acme's support assistant."
    row = widen(change_set=row, percent=50, actor=cast.root)
    assert {one.percent for one in row.applied.all()} == {50}
    with pytest.raises(ChangeSetRefused, match="larger"):
        widen(change_set=row, percent=50, actor=cast.root)
    row = widen(change_set=row, percent=100, actor=cast.root)
    assert (prompt_of(cast.support), Assistant.objects.get(pk=cast.support.pk).model) == ("You are brief.", "large")
    assert cast.support.prompt_versions.count() == 2
    assert (len(take_back(change_set=row, actor=cast.root).restored), prompt_of(cast.support)) == (
        3,
        "You are Acme's support assistant.",
    )


def test_a_share_that_is_taken_back_is_gone_from_the_next_run_on(cast: Cast, provider: Provider) -> None:
    row = submit(change_set=change_set(cast, NEW_PROMPT, percent=99), actor=cast.root)
    assert "ChangedPrompt" in _extensions(opened(cast, conversation(row, inside=True)))
    take_back(change_set=row, actor=cast.root)
    assert "ChangedPrompt" not in _extensions(opened(cast, conversation(row, inside=True)))


def _extensions(run: OpenedRun) -> list[str]:
    assert run.setup is not None
    return [extension.name for extension in run.setup.extensions]


def test_without_a_share_nothing_of_the_app_is_entered_and_no_query_is_made(cast: Cast, provider: Provider) -> None:
    submit(change_set=change_set(cast, NEW_PROMPT, NEW_MODEL, TOOL_OFF), actor=cast.root)
    # A share of another tenant's conversations.
    submit(change_set=change_set(cast, NEW_PROMPT, percent=99, tenant=cast.globex), actor=cast.root)
    sys.modules.pop(ROLLOUT, None)
    with CaptureQueriesContext(connection) as queries:
        opened(cast, uuid.uuid4())
    assert ROLLOUT not in sys.modules
    assert not [one for one in queries.captured_queries if one["sql"].startswith('SELECT "assistant_change_sets')]
