"""A question is replayed by the code path of a run: with recorded results, stubs, and tools called for real."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from assistant.contrib.evaluations.services.evaluations.replayed_run import (
    RecordedCall,
    ReplayedRun,
    Spoken,
    ToolAnswers,
    replay,
)
from assistant.contrib.panel.services.prompt_tests.tool_answers import NOT_READ, STUB
from assistant.models import Conversation, PromptVersion, Provider, Run, ToolCall, UsageEntry
from assistant.services.assistants.prompts import draft_prompt
from assistant.services.errors import Refused
from assistant.services.runs.manager import get_runs
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant, switch_tool
from tests.fake_provider import FakeProvider
from tools.models import Customer

pytestmark = pytest.mark.django_db(transaction=True)
in_db = sync_to_async
CHANGE = ("update_customer", {"customer_id": 1001, "city": "Nowhere"})


@pytest.fixture(autouse=True)
async def _runs(transactional_db: None) -> AsyncIterator[None]:
    yield
    await get_runs().stop()


async def ask(
    member: Member, answers: ToolAnswers | None = None, *, version: PromptVersion | None = None
) -> ReplayedRun:
    return await replay(
        member=member,
        assistant_slug="support",
        messages=[Spoken("user", "Earlier?"), Spoken("assistant", "Yes."), Spoken("user", "And now?")],
        answers=answers or ToolAnswers(),
        prompt_version_id=None if version is None else version.pk,
    )


async def test_the_draft_answers_and_nothing_but_its_usage_stays(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, alice_member: Member
) -> None:
    draft = await in_db(draft_prompt)(assistant=cast.support, text="You are {{ tenant.name }}'s.")
    fake_provider.reply("Published.")
    fake_provider.reply("Drafted.")
    first, second = await ask(alice_member), await ask(alice_member, version=draft)
    assert (first.answer, first.prompt_number, second.answer, second.prompt_number) == ("Published.", 1, "Drafted.", 2)
    prompts = [request.messages[0]["content"] for request in fake_provider.requests]
    assert prompts == ["You are Acme's support assistant.", "You are Acme's."]
    assert [one["content"] for one in fake_provider.requests[0].messages[1:]] == ["Earlier?", "Yes.", "And now?"]
    assert (first.error, first.model, first.output_tokens > 0) == ("", "test-model", True)
    assert not await Run.objects.aexists() and not await Conversation.objects.aexists()
    assert [row async for row in UsageEntry.objects.values_list("is_test", "run")] == [(True, None)] * 2


async def test_recorded_results_are_given_back_for_the_same_arguments_and_their_marks_too(
    cast: Cast, demo: None, provider: Provider, fake_provider: FakeProvider, alice_member: Member
) -> None:
    await in_db(switch_tool)(cast.acme, "get_customer")
    answers = ToolAnswers(
        recorded=[
            RecordedCall("get_customer", '{"customer_id":  1}', "first", ("an e-mail",)),
            RecordedCall("get_customer", '{"customer_id": 1}', "second"),
        ],
        calls_read_only=False,
    )
    for number in (1, 1, 2):
        fake_provider.call("get_customer", {"customer_id": number})
    fake_provider.reply("Done.")
    found = await ask(alice_member, answers)
    assert [(call.answered, call.result) for call in found.calls] == [
        ("recorded", "first"), ("recorded", "second"), ("stubbed", NOT_READ),
    ]  # fmt: skip
    read = [message["content"] for message in fake_provider.requests[1].messages if message["role"] == "tool"]
    assert "first" in read[0] and read[0] != "first"  # fenced, as untrusted text is
    assert found.calls[0].rule == "A test: answered by a recorded result."


async def test_a_tool_that_changes_something_is_never_called_and_its_approval_is_noted(
    cast: Cast, demo: None, provider: Provider, fake_provider: FakeProvider, alice_member: Member
) -> None:
    await in_db(switch_tool)(cast.acme, "update_customer", "ask")
    number = (await Customer.objects.filter(tenant_id=cast.acme.pk).afirst()).number  # type: ignore[union-attr]
    fake_provider.call("update_customer", {"customer_id": number, "city": "Nowhere"})
    fake_provider.reply("Changed.")
    found = await ask(alice_member)
    (call,) = found.calls
    assert (call.answered, call.would_ask, call.status, call.result) == ("stubbed", True, "ok", STUB)
    assert found.answer == "Changed."
    assert not await Customer.objects.filter(city="Nowhere").aexists()


async def test_read_only_tools_are_called_and_the_policy_still_refuses(
    cast: Cast, demo: None, provider: Provider, fake_provider: FakeProvider, alice_member: Member
) -> None:
    await in_db(switch_tool)(cast.acme, "find_customers")
    await in_db(switch_tool)(cast.acme, "get_order", "off")
    fake_provider.call("find_customers", {"query": "a"})
    fake_provider.call("get_order", {"number": 1})
    fake_provider.reply("Done.")
    found = await ask(alice_member)
    assert [(call.name, call.answered, call.status) for call in found.calls] == [
        ("find_customers", "called", "ok"), ("get_order", None, "refused"),
    ]  # fmt: skip
    assert "customers" in json.loads(found.calls[0].result)


@tool(read_only=True, idempotent=True)
def opening_hours(day: str) -> str:
    """Tell when the shop opens."""
    return "At nine."


async def test_results_of_tests_and_of_real_runs_never_meet_in_a_cache(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, alice_member: Member, settings: Any
) -> None:
    settings.ASSISTANT_TOOL_INTERCEPTORS = ["assistant.client.Cache"]
    with catalogue.using(Registry([opening_hours])):
        await in_db(switch_tool)(cast.acme, "opening_hours")
        for planted in ("first", "second"):
            fake_provider.call("opening_hours", {"day": "Monday"})
            fake_provider.reply("Done.")
            found = await ask(alice_member, ToolAnswers([RecordedCall("opening_hours", None, planted)]))
            assert [(call.answered, call.result) for call in found.calls] == [("recorded", planted)]


async def test_the_tools_of_assistants_that_are_asked_are_not_called_either(
    cast: Cast, demo: None, provider: Provider, fake_provider: FakeProvider, alice_member: Member
) -> None:
    expert = await in_db(make_assistant)(cast.acme, "expert", prompt="You know.")
    await in_db(let_ask)(cast.support, expert)
    await in_db(switch_tool)(cast.acme, "update_customer")
    fake_provider.call("ask_expert", {"task": "Move them"})
    fake_provider.call(*CHANGE)
    fake_provider.reply("Moved.")
    fake_provider.reply("It is done.")
    found = await ask(alice_member)
    assert sorted((call.name, call.agent, str(call.answered)) for call in found.calls) == [
        ("ask_expert", "", "called"), ("update_customer", "ask_expert", "stubbed"),
    ]  # fmt: skip
    assert not await Customer.objects.filter(city="Nowhere").aexists()


async def test_questions_to_a_person_are_offered_and_noted(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, alice_member: Member
) -> None:
    await in_db(switch_tool)(cast.acme, "ask_user")
    fake_provider.call("ask_user", {"question": "Which?", "fields": [{"name": "a", "label": "A", "kind": "text"}]})
    fake_provider.reply("Fine.")
    found = await ask(alice_member)
    assert [(call.answered, call.would_ask) for call in found.calls] == [("stubbed", True)]
    assert "ask_user" in [one["function"]["name"] for one in fake_provider.requests[0].json["tools"]]


async def test_a_failure_is_told_and_another_tenants_version_is_unknown(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, alice_member: Member
) -> None:
    fake_provider.respond(400, {"error": {"message": "no"}})
    found = await ask(alice_member)
    assert (found.answer, found.error_code) == ("", "provider_error") and found.error
    theirs = await in_db(draft_prompt)(assistant=cast.rival_support, text="Secret.")
    with pytest.raises(Refused, match="no such version"):
        await ask(alice_member, version=theirs)
    assert not await Conversation.objects.aexists() and not await ToolCall.objects.aexists()
