"""An operator tries a prompt as a member of their choice: with the member's permissions, and unseen by them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from pytest_django.fixtures import Settings

from assistant.models import AuditEntry, Conversation, PromptVersion, Provider, Run, UsageEntry
from assistant.services.assistants.prompts import draft_prompt
from assistant.services.runs.manager import get_runs
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tools.models import Customer

pytestmark = pytest.mark.django_db(transaction=True)
in_db = sync_to_async


@pytest.fixture(autouse=True)
async def _runs(transactional_db: None) -> AsyncIterator[None]:
    yield
    await get_runs().stop()


async def draft_of(cast: Cast) -> PromptVersion:
    return await in_db(draft_prompt)(assistant=cast.support, text="You are {{ tenant.name }}'s.")


async def tried(cast: Cast, version: PromptVersion, *, by: Any, user: str = "alice", said: Any = ("Hello?",)) -> Any:
    client = AsyncClient()
    await client.aforce_login(by)
    address = f"/admin/assistant_evaluations/evaluation/try-as/{version.assistant_id}/"
    sent = {"version": version.pk, "user": user, "said": said if isinstance(said, str) else json.dumps(said)}
    return await client.post(address, sent)


async def test_the_draft_answers_as_the_member_who_never_sees_it(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    version = await draft_of(cast)
    fake_provider.reply("At nine.")
    answer = await tried(cast, version, by=cast.root, said=["Hello?", "Hello.", "When?"])
    assert answer.status_code == 200
    found = json.loads(answer.content)
    assert (found["answer"], found["error"], found["calls"]) == ("At nine.", "", [])
    (request,) = fake_provider.requests
    assert [one["content"] for one in request.messages] == ["You are Acme's.", "Hello?", "Hello.", "When?"]
    assert not await Run.objects.aexists()
    assert not await Conversation.objects.aexists()
    usage = await UsageEntry.objects.aget()
    assert (usage.is_test, usage.user_id, usage.tenant_id) == (True, cast.alice.pk, cast.acme.pk)
    entry = await AuditEntry.objects.aget(action="prompt.try_as")
    assert (entry.tenant_id, entry.actor_id, entry.target) == (cast.acme.pk, cast.root.pk, "support v2")
    assert entry.details == {"as": "alice"}


async def test_tools_that_change_something_are_not_run(
    cast: Cast, demo: None, provider: Provider, fake_provider: FakeProvider
) -> None:
    version = await draft_of(cast)
    await in_db(switch_tool)(cast.acme, "update_customer")
    fake_provider.call("update_customer", {"customer_id": 1001, "city": "Nowhere"})
    fake_provider.reply("Done.")
    found = json.loads((await tried(cast, version, by=cast.root)).content)
    assert found["calls"] == [{"name": "update_customer", "how": "not run"}]
    assert not await Customer.objects.filter(city="Nowhere").aexists()


async def test_those_who_are_no_operators_and_other_tenants_members_try_nothing(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, settings: Settings
) -> None:
    version = await draft_of(cast)
    for person in (cast.amy, cast.greta, cast.alice):
        assert (await tried(cast, version, by=person)).status_code in (302, 403, 404)
    for user in ("mallory", "nobody", "", "\x00"):
        answer = await tried(cast, version, by=cast.root, user=user)
        assert answer.status_code == 400
        assert json.loads(answer.content)["problem"] == "Choose a member of this tenant."
    rivals = await in_db(draft_prompt)(assistant=cast.rival_support, text="Betray.")
    rivals.assistant_id = cast.support.pk
    assert (await tried(cast, rivals, by=cast.root)).status_code == 404
    settings.ASSISTANT_PROMPT_TESTS = False
    assert (await tried(cast, version, by=cast.root)).status_code == 404
    assert not await AuditEntry.objects.filter(action="prompt.try_as").aexists()
    assert fake_provider.requests == []


@pytest.mark.parametrize("said", ["", "[]", "{}", "[1]", '["a", "b"]', '[" "]', json.dumps(["x"] * 21), "[" * 5000])
async def test_what_is_no_conversation_is_not_asked(cast: Cast, said: str) -> None:
    answer = await tried(cast, await draft_of(cast), by=cast.root, said=said)
    assert answer.status_code == 400
    assert json.loads(answer.content)["problem"] == "Ask something."


async def test_the_editor_offers_it_to_operators_alone(cast: Cast) -> None:
    for person, is_offered in ((cast.root, True), (cast.amy, False)):
        client = AsyncClient()
        await client.aforce_login(person)
        page = await client.get(f"/admin/assistant/promptversion/editor/{cast.support.pk}/")
        assert ('id="try-user"' in page.content.decode()) == is_offered
        assert ("It counts in their limits and usage" in page.content.decode()) == is_offered
        assert 'id="try-question"' in page.content.decode()
