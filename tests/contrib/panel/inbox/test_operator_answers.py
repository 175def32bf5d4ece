"""Operators answer for members: which question they read, as whom the run goes on, and in which language."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.utils.translation import override

from assistant.contrib.panel.services.approvals import answer_for_member, member_of, with_question
from assistant.models import Approval, Run, ToolCall, ToolSetting
from assistant.models import Message as MessageRow
from assistant.services.runs.approvals import resume_of
from assistant.services.runs.manager import get_runs
from tests.base import Cast
from tests.contrib.later_results.test_waiting_runs import tools
from tests.contrib.later_results.waiting import ask
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.services.callers.test_own_runs import Place, place
from tests.services.runs.test_branches import Talk, talk, waiting
from tests.services.runs.test_languages import GERMAN

__all__ = ["place", "talk", "tools"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_operator_reads_the_question_of_the_calls_own_path(talk: Talk) -> None:
    call = waiting(talk, "q3")
    MessageRow.objects.filter(message_id="q2").update(position=100)  # as if of another path, and later
    rows = with_question(Approval.objects.filter(pk=call.pk))
    assert list(rows.values_list("question", flat=True)) == ["q3"]


async def test_an_operators_answer_does_not_change_a_members_language(cast: Cast, fake_provider: FakeProvider) -> None:
    await sync_to_async(switch_tool)(cast.acme, "send_letter", policy="ask")
    fake_provider.call("send_letter", {"to": "Bob"})
    with override("de"):
        await ask(cast)
    calls = [one async for one in Approval.objects.select_related("run__tenant", "run__assistant")]
    answers = [resume_of(call, approved=True) for call in calls]
    fake_provider.respond(401)
    with override("fr"):
        opened = await answer_for_member(calls=calls, answers=answers, decided_by=cast.root.pk)
    await get_runs().ended(pk=opened.key.pk)
    assert (await Run.objects.aget(pk=opened.key.pk)).error_message.startswith(GERMAN)


async def test_it_follows_what_an_operator_decides_about_its_run(place: Place, fake_provider: FakeProvider) -> None:
    fake_provider.call("current_time", {})
    policy = ToolSetting.Policy.ASK
    await ToolSetting.objects.acreate(tenant=place.cast.acme, tool="current_time", policy=policy)
    async with place.socket(place.key) as socket:
        await socket.ask("When?", thread=place.thread)
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.AWAITING_APPROVAL
    member = await sync_to_async(lambda: member_of(Approval.objects.get()))()
    assert member is not None
    row = await Run.objects.aget(status=Run.Status.WAITING)
    assert (member.key_id, member.reads_only_own_runs) == (row.api_key_id, False)
