"""Evaluations in the control panel: made, run and judged by those who may, within what they may read."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, EvaluationResult
from assistant.contrib.evaluations.services.evaluations.evaluations import make_evaluation
from assistant.contrib.evaluations.services.evaluations.questions import Question
from assistant.models import AuditEntry, Conversation, Job, PromptVersion, Run, UsageEntry
from assistant.services.assistants.prompts import draft_prompt
from tests.base import Cast
from tests.contrib.evaluations.test_evaluations import asked
from tests.contrib.panel.conftest import signed_in
from tests.contrib.panel.tenants.test_custom_roles import give, holder
from tests.factories import make_conversation, make_member, make_message, make_run

pytestmark = pytest.mark.django_db
LIST = "/admin/assistant_evaluations/evaluation/"


def new(cast: Cast) -> str:
    return f"{LIST}new/{cast.support.pk}/"


def page(evaluation: Evaluation) -> str:
    return f"{LIST}{evaluation.pk}/change/"


def compare(client: Client, cast: Cast, **fields: Any) -> str:
    """Send the form as it is shown, with some fields changed; return the page that follows."""
    shown = client.get(new(cast)).context["form"]
    form = {name: shown[name].value() for name in shown.fields}
    form = {name: value for name, value in form.items() if value is not None}
    if isinstance(form.get("draft"), PromptVersion):
        form["draft"] = form["draft"].pk
    answer = client.post(new(cast), {**form, **fields}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def answered(cast: Cast, *, number: int = 1, question: Question | None = None) -> Evaluation:
    """Create an evaluation of which all questions were answered."""
    questions = [question or Question(f"Question {index}?") for index in range(number)]
    evaluation = make_evaluation(
        assistant=cast.support, name=f"Of {number}", questions=questions, run_as=cast.amy, actor=cast.amy
    )
    call = {"name": "get_order", "arguments": '{"number": 1}', "result": "shipped", "status": "ok", "agent": ""}
    for case in evaluation.cases.all():
        for side in ("published", "draft"):
            EvaluationResult.objects.create(
                tenant=cast.acme,
                case=case,
                side=side,
                answer=f"The {side} answer.",
                calls=[{**call, "answered": "recorded", "asks": side == "draft"}],
                cost=1_500,
                prompt_number=2,
            )
    return evaluation


def test_two_clicks_compare_the_newest_questions_with_the_newest_draft(amys: Client, cast: Cast) -> None:
    draft = draft_prompt(assistant=cast.support, text="Be brief.")
    asked(cast, "First?")
    asked(cast, "Second?")
    shown = compare(amys, cast)
    evaluation = Evaluation.objects.get()
    assert (evaluation.prompt_version, evaluation.state, evaluation.run_as) == (draft, "waiting", cast.amy)
    assert [case.question for case in evaluation.cases.all()] == ["Second?", "First?"]
    assert Job.objects.get(name="evaluation.run").key == str(evaluation.pk)
    assert "0 of 4 answers" in shown and "Publish version 2" in shown and "First?" in shown
    assert f"/admin/assistant/promptversion/{draft.pk}/publish/" in shown
    reading = AuditEntry.objects.filter(action="conversation.read", actor=cast.amy)
    assert reading.count() == 2


def test_own_questions_a_thumbs_down_and_a_saved_set_can_be_chosen(amys: Client, cast: Cast) -> None:
    asked(cast, "Bad?", rating=-1)
    asked(cast, "Good?")
    compare(amys, cast, source="down", typed="Mine?\n\n  Also mine? ", name="One")
    one = Evaluation.objects.get(name="One")
    assert [case.question for case in one.cases.all()] == ["Mine?", "Also mine?", "Bad?"]
    one.cases.filter(position=1).update(expected_text="yes")
    compare(amys, cast, source=f"set:{one.pk}", count=2, name="Two", tools="call", judge_model="judge")
    two = Evaluation.objects.get(name="Two")
    assert [(case.question, case.expected_text) for case in two.cases.all()] == [("Mine?", "yes"), ("Also mine?", "")]
    assert (two.tools, two.judge_model) == ("call", "judge")
    assert "of this name" in compare(amys, cast, source="typed", typed="x", name="Two")
    assert "no such question" in compare(amys, cast, source="failed", name="Three")


def test_the_page_shows_both_answers_with_their_figures_and_is_judged(amys: Client, cast: Cast) -> None:
    evaluation = answered(cast)
    shown = amys.get(page(evaluation)).content.decode()
    assert "The published answer." in shown and "The draft answer." in shown
    assert "recorded result, would ask first" in shown and "0.0015" in shown
    assert "0,0015" in amys.get(page(evaluation), headers={"accept-language": "de"}).content.decode()
    amys.post(page(evaluation), {"do": "judge:1", "verdict": "better", "note": "Kinder."})
    amys.post(page(evaluation), {"do": "expect:1", "expected_tool": "get_order", "expected_text": "published"})
    case = EvaluationCase.objects.get()
    assert (case.verdict, case.note, case.judged_by) == ("better", "Kinder.", cast.amy)
    assert dict(case.results.values_list("side", "is_passed")) == {"published": True, "draft": False}
    amys.post(page(evaluation), {"do": "judge:1", "verdict": "better"})
    case.refresh_from_db()
    assert (case.verdict, case.judged_by) == ("", None)
    assert amys.post(page(evaluation), {"do": "judge:1", "verdict": "best"}).status_code == 404
    assert amys.post(page(evaluation), {"do": "judge:9", "verdict": "same"}).status_code == 404
    actions = AuditEntry.objects.filter(action__startswith="evaluation.").values_list("action", flat=True)
    assert sorted(set(actions)) == ["evaluation.expect", "evaluation.judge", "evaluation.make"]


def test_it_is_run_again_cancelled_and_deleted(amys: Client, cast: Cast) -> None:
    evaluation = answered(cast)
    amys.post(page(evaluation), {"do": "run"})
    evaluation.refresh_from_db()
    assert evaluation.state == "waiting" and not EvaluationResult.objects.exists()
    amys.post(page(evaluation), {"do": "cancel"})
    evaluation.refresh_from_db()
    assert evaluation.state == "cancelled" and not Job.objects.filter(state="waiting").exists()
    amys.post(f"{LIST}{evaluation.pk}/delete/", {"post": "yes"})
    assert not Evaluation.objects.exists()
    assert AuditEntry.objects.filter(action="evaluation.delete").exists()


def test_the_page_makes_the_same_number_of_queries_for_any_number_of_questions(amys: Client, cast: Cast) -> None:
    def queries(number: int) -> int:
        evaluation = answered(cast, number=number)
        for case in evaluation.cases.all():
            case.conversation = asked(cast).conversation
            case.save()
        amys.get(page(evaluation))
        with CaptureQueriesContext(connection) as captured:
            assert amys.get(page(evaluation)).status_code == 200
        return len(captured)

    assert queries(2) == queries(20)
    with CaptureQueriesContext(connection) as few:
        amys.get(LIST)
    for index in range(8):
        make_evaluation(assistant=cast.support, name=f"More {index}", questions=[Question("?")], actor=cast.amy)
    with CaptureQueriesContext(connection) as many:
        assert amys.get(LIST).status_code == 200
    assert len(few) == len(many)


@pytest.mark.parametrize("reading", ["reason", "off"])
def test_texts_of_conversations_that_may_not_be_read_are_hidden(cast: Cast, reading: str) -> None:
    run = asked(cast, "A secret question?")
    evaluation = answered(cast, question=Question("A secret question?", conversation=run.conversation))
    cast.acme.chat_reading = reading
    cast.acme.save()
    amys = signed_in(cast.amy)
    shown = amys.get(page(evaluation)).content.decode()
    assert "A secret question?" not in shown and "answer." not in shown and "shipped" not in shown
    assert "Hidden" in shown and "0.0015" in shown
    assert amys.post(page(evaluation), {"do": "judge:1", "verdict": "same"}).status_code == 404
    compare(amys, cast, source="newest", typed="Mine?", name="New")
    assert [case.question for case in Evaluation.objects.get(name="New").cases.all()] == ["Mine?"]


def test_who_may_write_prompts_but_not_read_chats_chooses_only_their_own_questions(cast: Cast) -> None:
    asked(cast, "Alice asked?")
    evaluation = answered(cast, question=Question("Hers?", conversation=asked(cast).conversation))
    writer = make_member(cast.acme, "wendy")
    give(cast, writer, "prompts")
    own = make_conversation(writer, cast.support)
    make_message(own, "user", "I asked?", run=make_run(own))
    client = signed_in(writer)
    compare(client, cast, name="Mine")
    assert [case.question for case in Evaluation.objects.get(name="Mine").cases.all()] == ["I asked?"]
    assert "Hers?" not in client.get(page(evaluation)).content.decode()
    run = Run.objects.exclude(user=writer).first()
    assert run is not None and client.get(f"{LIST}try/{run.pk}/").status_code == 404


def test_who_may_write_prompts_reads_no_results_of_tools_that_were_called_for_another(cast: Cast) -> None:
    evaluation = answered(cast, question=Question("Typed in?"))
    writer = make_member(cast.acme, "wendy")
    give(cast, writer, "prompts")
    client = signed_in(writer)
    assert "shipped" in client.get(page(evaluation)).content.decode()
    Evaluation.objects.update(tools=Evaluation.Tools.CALL)
    assert "shipped" not in client.get(page(evaluation)).content.decode()
    assert client.post(page(evaluation), {"do": "judge:1", "verdict": "same"}).status_code == 404
    assert "shipped" in signed_in(cast.amy).get(page(evaluation)).content.decode()
    client.post(page(evaluation), {"do": "run"})
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.run_as) == ("waiting", writer)
    assert "Typed in?" in client.get(page(evaluation)).content.decode()


def test_others_find_nothing(cast: Cast) -> None:
    run = asked(cast)
    evaluation = answered(cast)
    draft_prompt(assistant=cast.support, text="Be brief.")
    for client in (signed_in(cast.greta), holder(cast, "read_chats")):
        for address in (new(cast), f"{LIST}try/{run.pk}/"):
            assert client.get(address).status_code == 404, address
        assert client.get(page(evaluation)).status_code in (302, 403, 404)
        assert client.post(page(evaluation), {"do": "run"}).status_code in (302, 403, 404)
    evaluation.refresh_from_db()
    assert evaluation.state == "new"
    assert signed_in(cast.alice).get(new(cast)).status_code == 302


def test_a_question_of_a_run_is_taken_to_a_test_chat_or_compared(amys: Client, cast: Cast) -> None:
    run = asked(cast, "How late?")
    amys.get(f"/admin/assistant/run/{run.pk}/change/")
    address = f"{LIST}try/{run.pk}/"
    assert address in amys.get(f"/admin/assistant/run/{run.pk}/change/").content.decode()
    assert address in amys.get(f"/admin/assistant/conversation/{run.conversation_id}/change/").content.decode()
    assert "no draft yet" in amys.get(address).content.decode()
    draft = draft_prompt(assistant=cast.support, text="Be brief.")
    assert "How late?" in amys.get(address).content.decode()
    answer = amys.post(address, {"version": draft.pk, "do": "try"}, follow=True)
    chat = answer.content.decode()
    assert answer.request["QUERY_STRING"] == f"test={draft.pk}"
    assert f'data-test-version="{draft.pk}"' in chat and 'data-question="How late?"' in chat
    assert "data-taken" in chat
    # Loaded again, the page has the question as the tab's draft, and it is still not the tester's own.
    again = amys.get(f"/t/acme/?test={draft.pk}").content.decode()
    assert "How late?" not in again and "data-taken" in again
    amys.post(address, {"version": draft.pk, "do": "compare"})
    evaluation = Evaluation.objects.get()
    case = evaluation.cases.get()
    assert (case.question, case.conversation, len(case.recorded)) == ("How late?", run.conversation, 1)


def test_a_run_that_began_with_no_question_leads_back_to_its_conversation(amys: Client, cast: Cast) -> None:
    run = make_run(make_conversation(cast.amy, cast.support))
    answer = amys.get(f"{LIST}try/{run.pk}/", follow=True)
    assert answer.redirect_chain == [(f"/admin/assistant/conversation/{run.conversation_id}/change/", 302)]
    assert "began with no question" in answer.content.decode()


def test_tests_are_counted_apart_and_in_no_list_of_chats(amys: Client, cast: Cast) -> None:
    run = asked(cast, "Real?")
    test = make_conversation(cast.amy, cast.support, title="Tried", test_tools="stub")
    tried = make_run(test, is_test=True, status="failed")
    for one, cost in ((run, 1_000_000), (tried, 500_000)):
        UsageEntry.objects.create(
            tenant=cast.acme, user=one.user, run=one, model="m", cost=cost, input_tokens=1, is_test=one.is_test
        )
    listed = amys.get("/admin/assistant/conversation/").content.decode()
    assert "Tried" not in listed
    assert "Tried" in amys.get("/admin/assistant/conversation/?test=only").content.decode()
    spend = amys.get("/admin/spend/").context["total"]
    assert (spend.runs, spend.cost, spend.test_cost) == (1, 1.5, 0.5)
    today = amys.get("/admin/").context["report"].days[-1]
    assert (today.runs, today.failed, today.cost) == (1, 0, 1.5)
    assert Conversation.objects.filter(pk=test.pk).exists()
