"""The inbox: what led to an approval, its arguments as a form, and links from incidents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.panel.admin.inbox.approval_form import AnswerForm
from assistant.models import Approval, AuditEntry, Incident, Membership, Run, Tenant, ToolCall
from assistant.services.runs.approval_expiry import APPROVAL_LIFETIME
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.factories import switch_tool

LIST = "/admin/assistant/approval/"


def waiting(cast: Cast, tool: str = "calculate", **arguments: Any) -> Approval:
    run = say_something(cast, tool=tool)
    Run.objects.filter(pk=run.pk).update(status=Run.Status.WAITING)
    status = ToolCall.Status.AWAITING_APPROVAL
    ToolCall.objects.filter(run=run).update(status=status, arguments=json.dumps(arguments))
    return Approval.objects.get(run=run)


def answer(call: Approval, **given: str) -> AnswerForm:
    data = QueryDict(mutable=True)
    data.update({f"call-{call.pk}-{name}": value for name, value in given.items()})
    return AnswerForm(call, data)


def test_the_list_and_the_page_show_the_question_who_asked_and_the_expiry(amys: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1")
    for page in (LIST, f"{LIST}{call.pk}/change/"):
        text = amys.get(page).content.decode()
        assert "When do you open?" in text
        assert "alice" in text
    assert f"/admin/assistant/conversation/{call.waiting_run.conversation_id}/change/" in text
    assert f"/admin/assistant/run/{call.waiting_run.pk}/change/" in text
    assert "Can be answered until" in text


def test_the_arguments_are_a_form_of_the_tools_schema(cast: Cast) -> None:
    call = waiting(cast, "find_orders", status="paid", limit=3)
    form = AnswerForm(call, None)
    assert "arguments" not in form.fields
    assert {"arg_status", "arg_limit"} <= form.fields.keys()
    assert form["arg_limit"].value() == 3
    same = answer(call, choice="approve", arg_status='"paid"', arg_limit="3")
    assert same.is_valid(), same.errors
    assert same.answer().edited_arguments is None
    edited = answer(call, choice="approve", arg_status='"paid"', arg_limit="5")
    assert edited.is_valid() and edited.answer().edited_arguments == {"status": "paid", "limit": 5}
    less = answer(call, choice="approve", arg_status="", arg_limit="3")
    assert less.is_valid() and less.answer().edited_arguments == {"limit": 3}


def test_the_page_shows_what_the_tools_preview_said(amys: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1")
    changes = [{"label": "Status of <b>", "old": "open", "new": "cancelled"}, {"label": "Next", "new": "Monday"}]
    other = {"toolCallId": "c2", "metadata": {"changes": [{"label": "Of another call", "old": 1}]}}
    asked = [other, {"toolCallId": call.call_id, "metadata": {"changes": changes}}]
    Run.objects.filter(pk=call.waiting_run.pk).update(ending={"type": "RUN_FINISHED", "outcome": {"interrupts": asked}})
    text = amys.get(f"{LIST}{call.pk}/change/").content.decode()
    assert "Status of &lt;b&gt;" in text and "<td>open</td><td>cancelled</td>" in text
    assert "<td>—</td><td>Monday</td>" in text
    assert "Of another call" not in text
    endings: list[Any] = [None, {"outcome": None}, {"outcome": {"interrupts": [{}]}}]
    for ending in endings:
        Run.objects.filter(pk=call.waiting_run.pk).update(ending=ending)
        assert "would change" not in amys.get(f"{LIST}{call.pk}/change/").content.decode()


@pytest.mark.parametrize(("choice", "is_valid"), [("approve", False), ("reject", True)])
def test_only_an_approval_checks_the_arguments(cast: Cast, choice: str, is_valid: bool) -> None:
    call = waiting(cast, "find_orders", limit=3)
    assert answer(call, choice=choice, arg_limit="many").is_valid() is is_valid
    empty = answer(waiting(cast, expression="1+1"), choice=choice, arg_expression="")
    assert empty.is_valid() is is_valid


def test_text_stays_as_it_was_asked_for(cast: Cast) -> None:
    call = waiting(cast, expression=" 1 +\n1 ")
    kept = answer(call, choice="approve", arg_expression=" 1 +\r\n1 ")
    assert kept.is_valid() and kept.answer().edited_arguments is None


@pytest.mark.parametrize("arguments", ["[1]", "no json", "{}"])
def test_arguments_without_a_schema_are_edited_as_text(cast: Cast, arguments: str) -> None:
    call = waiting(cast, "no_such_tool")
    call.arguments = arguments
    form = answer(call, choice="approve", arguments='{"a": 1}')
    assert form.is_valid() and form.answer().edited_arguments == {"a": 1}


def test_arguments_that_the_schema_does_not_know_are_never_hidden(amys: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1", recipient="mallory")
    assert "arguments" in AnswerForm(call, None).fields
    assert "mallory" in amys.get(f"{LIST}{call.pk}/change/").content.decode()


def test_a_call_that_was_answered_says_what_became_of_it(amys: Client, root: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1")
    ToolCall.objects.update(status=ToolCall.Status.ERROR, error="No such customer.", decided_by=cast.alice)
    page = amys.get(f"{LIST}{call.pk}/change/").content.decode()
    assert "answered by alice" in page
    assert "<strong>Failed</strong>" in page
    assert "No such customer." in page
    assert f'href="{LIST}"' in page
    Tenant.objects.update(chat_reading="off")
    assert "No such customer." not in amys.get(f"{LIST}{call.pk}/change/").content.decode()
    ToolCall.objects.update(tenant=cast.globex)
    assert amys.get(f"{LIST}{call.pk}/change/").status_code == 404
    assert root.get(f"{LIST}{'9' * 30}/change/").status_code == 404


def test_two_buttons_stand_below_the_arguments_and_the_form_is_closed(amys: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1")
    page = amys.get(f"{LIST}{call.pk}/change/").content.decode()
    assert '<button type="submit" name="do" value="approve"' in page
    assert "<dt>expression</dt><dd>1+1</dd>" in page
    assert "<details><summary>Edit" in page
    assert '<button type="submit" name="do" value="reject"' in page


def test_arguments_in_the_list_are_readable(amys: Client, cast: Cast) -> None:
    waiting(cast, expression="1+1")
    assert "expression: 1+1" in amys.get(LIST).content.decode()


def test_an_incident_links_to_its_call_run_and_conversation(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    names = {"tool": "current_time", "call_id": "c1", "description": "x"}
    known = Incident.objects.create(tenant=cast.acme, run_id=run.run_id, **names)
    page = amys.get(f"/admin/assistant/incident/{known.pk}/change/").content.decode()
    call = ToolCall.objects.get()
    for kind, pk in (("run", run.pk), ("conversation", run.conversation_id), ("toolcall", call.pk)):
        assert f"/admin/assistant/{kind}/{pk}/change/" in page
    assert f"/admin/assistant/run/{run.pk}/change/" in amys.get("/admin/assistant/incident/").content.decode()


def test_an_incident_never_links_to_a_rivals_run(root: Client, cast: Cast) -> None:
    run = say_something(cast)
    names = {"tool": "current_time", "call_id": "c1", "description": "x"}
    Incident.objects.create(tenant=cast.globex, run_id=run.run_id, **names)
    assert f"/admin/assistant/run/{run.pk}/" not in root.get("/admin/assistant/incident/").content.decode()


def test_the_approval_of_a_test_chat_is_marked_and_needs_nobody_on_the_first_page(amys: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1")
    assert "calculate (test)" not in amys.get(LIST).content.decode()
    assert "1 tool call waits for approval" in amys.get("/admin/").content.decode()
    Run.objects.filter(pk=call.waiting_run.pk).update(is_test=True)
    assert "calculate (test)" in amys.get(LIST).content.decode()
    assert "A test of a prompt asks this" in amys.get(f"{LIST}{call.pk}/change/").content.decode()
    assert "waits for approval" not in amys.get("/admin/").content.decode()
    assert "calculate (test)" not in amys.get(LIST, {"run__is_test__exact": "0"}).content.decode()


def test_the_question_of_an_external_server_is_a_form(amys: Client, cast: Cast) -> None:
    call = waiting(cast, "crm__book", what="a trip")
    schema = {"type": "object", "properties": {"seat": {"enum": ["Aisle"], "title": "Seat <b>"}}, "required": ["seat"]}
    kept = {"question": {"text": "“Which <i>?”", "schema": schema, "key": "k-1"}, "answers": {"k-0": {"people": 2}}}
    ToolCall.objects.filter(pk=call.pk).update(questions=json.dumps(kept))
    text = amys.get(f"{LIST}{call.pk}/change/").content.decode()
    assert "Which &lt;i&gt;?" in text and "Seat &lt;b&gt;" in text
    call.refresh_from_db()
    given = answer(call, choice="approve", arg_seat='"Aisle"')
    assert given.is_valid(), given.errors
    made = given.answer()
    assert (made.response, made.question) == ('{"seat": "Aisle"}', 2)
    assert not answer(call, choice="approve", arg_seat="").is_valid()


def test_a_row_has_its_two_buttons_unless_its_run_waits_for_more_or_it_asks(amys: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1")
    text = amys.get(LIST).content.decode()
    assert f'name="answer" value="approve-{call.pk}"' in text and f'name="answer" value="reject-{call.pk}"' in text
    other = ToolCall.objects.create(
        tenant=cast.acme, run=call.run, call_id="c2", name="calculate", arguments="{}", status=call.status
    )
    text = amys.get(LIST).content.decode()
    assert "Answer all 2" in text and 'name="answer"' not in text
    other.delete()
    question = {"question": {"text": "Which?", "schema": {"type": "object"}, "key": "k"}, "answers": {}}
    ToolCall.objects.filter(pk=call.pk).update(questions=json.dumps(question))
    assert 'name="answer"' not in amys.get(LIST).content.decode()


def test_no_more_queries_with_more_rows(amys: Client, cast: Cast, django_assert_max_num_queries: Any) -> None:
    waiting(cast, expression="1+1")
    with CaptureQueriesContext(connection) as one:
        amys.get(LIST)
    for number in range(5):
        ToolCall.objects.filter(call_id="c1").update(call_id=f"was-{number}")
        run = say_something(cast, tool="calculate")
        Run.objects.filter(pk=run.pk).update(status=Run.Status.WAITING)
        ToolCall.objects.filter(run=run).update(status=ToolCall.Status.AWAITING_APPROVAL)
    with django_assert_max_num_queries(len(one)):
        assert amys.get(LIST).content.decode().count('value="approve-') == 6


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("off", "The tool is off"),
        ("gone", "There is no such tool any more"),
        ("changed", "takes these arguments no longer"),
        ("expired", "It has expired"),
        ("left", "The member has left"),
        ("nothing", ""),
    ],
)
def test_what_keeps_a_call_from_running_is_said_before_it_is_approved(
    amys: Client, cast: Cast, what: str, sentence: str
) -> None:
    call = waiting(cast, **({} if what == "changed" else {"expression": "1+1"}))
    switch_tool(cast.acme, "calculate", policy="off" if what == "off" else "ask")
    if what == "gone":
        ToolCall.objects.update(name="no_such_tool")
    elif what == "expired":
        ToolCall.objects.update(started_at=timezone.now() - APPROVAL_LIFETIME)
    elif what == "left":
        Membership.objects.filter(tenant=cast.acme, user=cast.alice).delete()
    page = amys.get(f"{LIST}{call.pk}/change/").content.decode()
    assert (sentence in page) if sentence else ("If you approve it now" not in page)
    if sentence:
        told = amys.post(LIST, {"answer": f"approve-{call.pk}"}, follow=True).content.decode()
        assert sentence in told
        assert Approval.objects.filter(pk=call.pk).exists()


def test_a_button_of_a_row_answers_no_rivals_call(amys: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1")
    ToolCall.objects.update(tenant=cast.globex)
    for choice in ("approve", "reject"):
        assert amys.post(LIST, {"answer": f"{choice}-{call.pk}"}).status_code == 302
    assert Approval.objects.filter(pk=call.pk).exists()
    assert not AuditEntry.objects.filter(action__startswith="approval").exists()
