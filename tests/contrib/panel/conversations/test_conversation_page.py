"""A conversation's page: the thread as members see it, and each run as a waterfall with its configuration."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.panel.admin.conversations.thread import bar, shown_waterfall
from assistant.contrib.panel.reports.thread import SHOWN_MESSAGES
from assistant.contrib.panel.reports.waterfall import Step, waterfalls
from assistant.models import Conversation, Feedback, Message, PromptVersion, Run, RunConfiguration, ToolCall, UsageEntry
from assistant.services.conversations.tool_switch import switch_tools
from assistant.services.tenancy.members import find_member
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.factories import make_conversation, make_message, make_run

TIMELINE = {
    "rounds": [
        {
            "at": 0,
            "first": 120,
            "ms": 300,
            "tools": 3,
            "model": "m1",
            "in": 111,
            "out": 22,
            "cached": 64,
            "cost": 1_500,
        },
        {"at": 900, "first": 50, "ms": 100, "tools": 3, "model": "m1", "in": 222, "out": 33, "cached": 0, "cost": 500},
    ],
    "calls": [{"id": "c1", "name": "current_time", "status": "ok", "at": 310, "ms": 580}],
    "error": {"id": "abc123def456", "reason": "HTTP 503; overloaded"},
    "context": ["customer_id"],
    "options": {"temperature": 0.5},
}
CONFIGURATION = {
    "provider": {"name": "Acme's", "source": "tenant", "model": "m1"},
    "limits": {"rounds": 7},
    "tools": [{"name": "current_time", "policy": "on", "rule": "The tenant has switched it on."}],
}


def page(client: Client, of: Run, **query: Any) -> str:
    response = client.get(f"/admin/assistant/conversation/{of.conversation_id}/change/", query)
    assert response.status_code == 200
    return response.content.decode()


def recorded(cast: Cast, **fields: Any) -> Run:
    run = say_something(cast)
    RunConfiguration.objects.get_or_create(
        tenant=cast.acme, digest="d1", defaults={"content": CONFIGURATION, "used_at": timezone.now()}
    )
    prompt = PromptVersion.objects.get(assistant=cast.support)
    Run.objects.filter(pk=run.pk).update(timeline=TIMELINE, configuration="d1", prompt_version=prompt, **fields)
    return run


def test_the_page_shows_rounds_calls_tokens_cost_and_the_configuration(amys: Client, cast: Cast) -> None:
    run = recorded(cast)
    text = page(amys, run)
    for shown in (
        "m1", "111 / 22 (64)", "222 / 33 (0)", "0.0015", "310, 580", "first token 120", "current_time",
        "The tenant has switched it on.", "rounds: 7", "temperature: 0.5", "customer_id", "version 1",
    ):  # fmt: skip
        assert shown in text, shown
    assert text.count('class="bar"') == 3
    assert f"/admin/assistant/run/{run.pk}/change/" in text
    assert f"/admin/assistant/toolcall/{ToolCall.objects.get(run=run).pk}/change/" in text


def test_the_audit_says_in_words_that_tools_of_a_conversation_were_switched(root: Client, cast: Cast) -> None:
    thread = say_something(cast).conversation_id
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None and switch_tools(member=member, conversation_id=thread, off=["calculate"])
    page = root.get("/admin/assistant/auditentry/").text
    assert "Conversation: tools switched" in page and "tools off: — → calculate" in page


def test_the_tools_that_a_member_has_switched_off_are_shown(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    for names, shown in (([], None), (["current_time", "pay"], "current_time, pay"), (["*"], "All tools")):
        Conversation.objects.filter(pk=run.conversation_id).update(tools_off=names)
        text = page(amys, run)
        assert ("Tools that are off" in text) == bool(names)
        assert shown is None or f"<dd>{shown}</dd>" in text
    foreign = make_conversation(cast.mallory, cast.rival_support)
    Conversation.objects.filter(pk=foreign.pk).update(tools_off=["*"])
    assert (
        "All tools" not in amys.get(f"/admin/assistant/conversation/{foreign.pk}/change/", follow=True).content.decode()
    )


def test_tokens_written_to_caches_are_shown_of_a_run_and_of_its_requests(amys: Client, cast: Cast) -> None:
    run = recorded(cast)
    assert "written to caches" not in page(amys, run)
    rounds = [{**TIMELINE["rounds"][0], "written": 4_096}]  # type: ignore[index]
    Run.objects.filter(pk=run.pk).update(timeline={**TIMELINE, "rounds": rounds})
    UsageEntry.objects.create(tenant=cast.acme, run=run, model="m1", cache_write_tokens=5_007)
    text = page(amys, run)
    assert "5,007 written to caches" in text and "4,096 written to caches" in text


def test_a_failed_run_shows_its_error_with_the_providers_own_reason(amys: Client, cast: Cast) -> None:
    failed = {"status": Run.Status.FAILED, "error_code": "provider_error", "error_message": "No answer (error abc123)."}
    run = recorded(cast, **failed)
    for text in (page(amys, run), amys.get(f"/admin/assistant/run/{run.pk}/change/").content.decode()):
        assert "No answer (error abc123)." in text
        assert "HTTP 503; overloaded" in text


def test_answers_are_rendered_as_for_members_and_never_as_html_of_the_model(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    answer = Message.objects.filter(run=run, role="assistant")
    answer.update(content="**bold** <img src=x onerror=alert(1)> [x](javascript:alert(1))")
    Message.objects.filter(run=run, role="user").update(content="<script>alert(2)</script> **not bold**")
    text = page(amys, run)
    assert "<strong>bold</strong>" in text
    assert "<img src=x" not in text
    assert "<script>alert(2)" not in text
    assert 'href="javascript:' not in text
    assert "**not bold**" in text


def test_an_answer_that_was_cut_off_shows_no_open_marks(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    Message.objects.filter(run=run, role="assistant").update(content="It is **much too la", is_partial=True)
    assert "It is <strong>much too la</strong>" in page(amys, run)


def test_a_rating_and_the_calls_of_a_message_stand_beside_it(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    message = Message.objects.get(run=run, role="assistant")
    Feedback.objects.filter(message=message).update(rating=-1, comment="No, at ten")
    Message.objects.filter(pk=message.pk).update(
        tool_calls=[{"id": "c1", "name": "current_time", "arguments": '{"zone": "<b>UTC"}'}]
    )
    make_message(run.conversation, "tool", "<i>12:00", run=run, tool_call_id="c1")
    text = page(amys, run)
    assert "Thumbs down: No, at ten" in text
    assert "&lt;b&gt;UTC" in text and "&lt;i&gt;12:00" in text


def test_a_run_leads_to_its_place_in_the_conversation_and_back(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    for number in range(SHOWN_MESSAGES):
        make_message(run.conversation, "user", f"Later {number}", run=make_run(run.conversation))
    newest = page(amys, run)
    assert "When do you open?" not in newest and "Older messages" in newest
    text = amys.get(f"/admin/assistant/run/{run.pk}/change/").content.decode()
    assert f"?run={run.pk}#run-{run.number}" in text
    there = page(amys, run, run=run.pk)
    assert "When do you open?" in there and f'id="run-{run.number}"' in there and "Later 3" not in there
    assert page(amys, run, before="x", run="9" * 40)  # as without


def test_a_rivals_conversation_does_not_exist(amys: Client, cast: Cast) -> None:
    theirs = make_conversation(cast.mallory, cast.rival_support, title="Secret")
    run = make_run(theirs, configuration="d1", timeline=TIMELINE)
    assert amys.get(f"/admin/assistant/conversation/{theirs.pk}/change/", follow=True).redirect_chain
    assert "Secret" not in amys.get(f"/admin/assistant/run/{run.pk}/change/", follow=True).content.decode()
    assert waterfalls(runs=[run], tenant_id=cast.acme.pk) == {}


def test_a_configuration_of_another_tenant_is_not_shown(cast: Cast) -> None:
    run = recorded(cast)
    RunConfiguration.objects.update(tenant=cast.globex)
    run.refresh_from_db()
    assert waterfalls(runs=[run], tenant_id=cast.acme.pk)[run.pk].configuration is None


def test_a_configuration_of_an_unknown_form_is_not_shown(amys: Client, cast: Cast) -> None:
    run = recorded(cast)
    RunConfiguration.objects.update(content=["of another version"])
    assert "are not known" in page(amys, run)


def test_what_a_run_did_not_wait_for_is_shown_with_its_end(amys: Client, cast: Cast) -> None:
    run = recorded(cast)
    left = [{"name": "<b>fake", "at": 400, "ms": None}, {"name": "Plain.check_answer", "at": 500, "ms": 30}]
    Run.objects.filter(pk=run.pk).update(timeline={**TIMELINE, "left": left})
    text = page(amys, run)
    assert "&lt;b&gt;fake was not waited for any more after 400 ms, and went on after the run." in text
    assert "Plain.check_answer was not waited for any more after 500 ms. It ended 30 ms later." in text


def test_a_run_without_a_timeline_has_the_times_of_its_calls(cast: Cast) -> None:
    run = say_something(cast)
    ToolCall.objects.filter(run=run).update(started_at=run.started_at + timedelta(milliseconds=250), duration_ms=40)
    (step,) = waterfalls(runs=[run], tenant_id=cast.acme.pk)[run.pk].steps
    assert (step.kind, step.at, step.ms) == ("tool", 250, 40)


def test_a_call_that_was_approved_is_shown_in_both_runs(cast: Cast) -> None:
    asked = say_something(cast)
    asked_for = {"calls": [{"id": "c1", "name": "current_time", "status": "awaiting_approval"}]}
    Run.objects.filter(pk=asked.pk).update(timeline=asked_for, status=Run.Status.WAITING)
    ToolCall.objects.filter(run=asked).update(status=ToolCall.Status.OK, decided_by=cast.amy)
    ran = {"calls": [{"id": "c1", "name": "current_time", "status": "ok", "at": 5, "ms": 6}]}
    then = make_run(asked.conversation, timeline=ran)
    asked.refresh_from_db()
    found = waterfalls(runs=[asked, then], tenant_id=cast.acme.pk)
    assert [step.status for step in found[asked.pk].steps] == ["approved"]
    assert shown_waterfall(found[asked.pk])["state"] == "Answered; another run went on"
    (step,) = found[then.pk].steps
    assert (step.status, step.ms) == ("ok", 6) and step.call is not None
    assert step.call.decided_by == cast.amy


@pytest.mark.parametrize(
    ("step", "parts"),
    [
        (Step("model", "m", 0, 500, 100), ['-wait" x="0" y="2" width="100"', '-model" x="100" y="0" width="400"']),
        (Step("tool", "t", 500, 500, status="error"), ['class="bar-failed" x="500" y="0" width="500"']),
        (Step("tool", "t", 999, 0, status="ok"), ['class="bar-tool" x="999" y="0" width="4"']),
    ],
)
def test_bars_stand_where_the_time_was_spent(step: Step, parts: list[str]) -> None:
    drawn = str(bar(step, 1_000))
    for part in parts:
        assert part in drawn
    assert bar(Step("tool", "t"), 1_000) == ""


def test_the_page_makes_no_more_queries_for_more_runs(amys: Client, cast: Cast) -> None:
    run = recorded(cast)
    page(amys, run)  # the reading is recorded once
    counts = []
    for number in (1, 8):
        for _ in range(number):
            more = make_run(run.conversation, timeline=TIMELINE, configuration="d1")
            make_message(run.conversation, "user", "And now?", run=more)
            make_message(run.conversation, "assistant", "Now.", run=more)
            UsageEntry.objects.create(tenant=cast.acme, run=more, model="m", cost=5)
        with CaptureQueriesContext(connection) as queries:
            page(amys, run)
        counts.append(len(queries))
    assert counts[0] == counts[1]
