"""Stored questions are chosen by what may be read, replayed against both prompts, and gone with their people."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db.models import Q
from django.utils import timezone

from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, EvaluationResult
from assistant.contrib.evaluations.services.evaluations import background, judge_model
from assistant.contrib.evaluations.services.evaluations.background import run_evaluation
from assistant.contrib.evaluations.services.evaluations.evaluations import (
    EvaluationRefused,
    begin,
    cancel,
    expect,
    judge,
    make_evaluation,
)
from assistant.contrib.evaluations.services.evaluations.figures import figures_of
from assistant.contrib.evaluations.services.evaluations.questions import (
    Question,
    question_of_run,
    stored_questions,
    typed_questions,
)
from assistant.models import (
    AuditEntry,
    Conversation,
    Feedback,
    Job,
    Provider,
    Retention,
    Run,
    TenantLimits,
    ToolCall,
    UsageEntry,
)
from assistant.services.assistants.prompts import draft_prompt
from assistant.services.jobs.jobs import LongWork
from assistant.services.privacy.erasure import erase_user
from assistant.services.privacy.retention import apply_retention
from assistant.services.runs.manager import get_runs
from tests.base import Cast
from tests.factories import make_conversation, make_member, make_message, make_run, switch_tool
from tests.fake_answers import Recorded, reply
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.jobs.due_jobs import do_due_jobs
from tests.websocket.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)
in_db = sync_to_async
EVERYTHING = Q()


@pytest.fixture
async def runs(transactional_db: None) -> AsyncIterator[None]:
    yield
    await get_runs().stop()


def asked(cast: Cast, text: str = "When do you open?", *, status: str = "finished", rating: int = 0) -> Run:
    """Create a question of Alice's after an earlier one, with a tool call and an answer."""
    conversation = make_conversation(cast.alice, cast.support)
    make_message(conversation, "user", "Hello?")
    make_message(conversation, "assistant", "Hello!")
    run = make_run(conversation, status=status)
    make_message(conversation, "user", text, run=run)
    answer = make_message(conversation, "assistant", "At nine.", run=run)
    Conversation.objects.filter(pk=conversation.pk).update(message_count=5, run_count=1)
    call = {"tenant": cast.acme, "run": run, "status": "ok", "name": "current_time", "arguments": "{}"}
    ToolCall.objects.create(call_id="c1", result="nine", sources=["a page"], **call)
    if rating:
        Feedback.objects.create(tenant=cast.acme, user=cast.alice, message=answer, rating=rating)
    return run


def made(cast: Cast, *questions: Question, **options: Any) -> Evaluation:
    chosen = questions or (Question("When do you open?"), Question("And when do you close?"))
    return make_evaluation(
        assistant=cast.support, name="Hours", questions=chosen, run_as=cast.amy, actor=cast.amy, **options
    )


def by_prompt(request: Recorded) -> Any:
    """Answer by the prompt: the draft's answers are longer."""
    first = request.messages[0]["content"]
    if first.startswith("You compare"):
        answers = json.loads(request.messages[-1]["content"])
        long = max("AB", key=lambda letter: len(answers[letter]["answer"]))
        return reply(json.dumps({"better": long, "reason": "It says more."}))(request)
    return reply("At nine." if "Acme" in first else "We open at nine.")(request)


def with_a_call(request: Recorded) -> Any:
    """Answer one of the questions with a tool."""
    if request.messages[-1]["content"] == "When do you open?":
        return reply(calls=[("current_time", {})])(request)
    return by_prompt(request)


async def run_it(evaluation: Evaluation) -> Evaluation:
    await in_db(begin)(evaluation=evaluation, in_background=False)
    await run_evaluation(tenant_id=evaluation.tenant_id, pk=evaluation.pk)
    await evaluation.arefresh_from_db()
    return evaluation


def results(evaluation: Evaluation) -> list[tuple[int, str, str]]:
    rows = EvaluationResult.objects.filter(case__evaluation=evaluation).order_by("case__position", "-side")
    return list(rows.values_list("case__position", "side", "answer"))


def test_questions_are_chosen_by_kind_with_what_came_before_and_what_tools_returned(cast: Cast) -> None:
    run = asked(cast)
    asked(cast, "Was it bad?", rating=-1)
    asked(cast, "Did it fail?", status="failed")
    asked(cast, "A test?").conversation.runs.update(is_test=True)

    def chosen(kind: Any, limit: int = 50, readable: Q = EVERYTHING) -> list[str]:
        found = stored_questions(assistant=cast.support, kind=kind, limit=limit, readable=readable)
        return [one.text for one in found]

    assert chosen("down") == ["Was it bad?"] and chosen("failed") == ["Did it fail?"]
    assert "A test?" not in chosen("newest") and chosen("newest", 1) == ["Did it fail?"]
    assert chosen("newest", readable=Q(user=cast.amy)) == []
    assert stored_questions(assistant=cast.rival_support, kind="newest", limit=9, readable=EVERYTHING) == []
    question = question_of_run(run=run)
    assert question is not None and (question.text, question.conversation) == ("When do you open?", run.conversation)
    assert [one["content"] for one in question.history] == ["Hello?", "Hello!"]
    assert question.recorded == [{"name": "current_time", "arguments": "{}", "result": "nine", "sources": ["a page"]}]


async def test_both_prompts_answer_with_recorded_results_and_a_judge_compares(
    runs: None, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(draft_prompt)(assistant=cast.support, text="Be kind.")
    await in_db(switch_tool)(cast.acme, "current_time")
    question = await in_db(lambda: question_of_run(run=asked(cast)))()
    evaluation = await in_db(made)(cast, question, Question("Closed?"), judge_model="the-judge")
    fake_provider.rule(with_a_call)
    await run_it(evaluation)
    assert (evaluation.state, evaluation.problem) == ("done", "")
    cases = await in_db(lambda: list(evaluation.cases.prefetch_related("results")))()
    assert [(case.model_verdict, case.model_reason) for case in cases] == [("better", "It says more.")] * 2
    assert {row.answer for case in cases for row in case.results.all() if row.side == "draft"} == {"We open at nine."}
    calls = [call for case in cases for row in case.results.all() for call in row.calls]
    assert [(call["name"], call["answered"], call["result"]) for call in calls] == [
        ("current_time", "recorded", "nine")
    ] * 2
    figures = figures_of(cases)
    assert (figures.done, figures.sides["draft"].answers, figures.judged_by_model["better"]) == (4, 2, 2)
    judged = UsageEntry.objects.filter(is_test=True, run=None)
    assert await judged.acount() == await UsageEntry.objects.acount() == 6
    assert {one.json["model"] for one in fake_provider.requests} == {"test-model", "the-judge"}
    assert await Run.objects.filter(is_test=True).acount() == 0
    ends = AuditEntry.objects.filter(action__startswith="evaluation.").order_by("pk")
    assert [one async for one in ends.values_list("action", flat=True)] == [
        "evaluation.make", "evaluation.begin", "evaluation.end",
    ]  # fmt: skip


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_judgement_that_breaks_off_counts_too(
    runs: None, cast: Cast, provider: Provider, fake_provider: FakeProvider, monkeypatch: Any, is_cancelled: bool
) -> None:
    monkeypatch.setattr(background, "RENEW_SECONDS", 0.05)
    monkeypatch.setattr(judge_model, "MAX_SECONDS", 60.0 if is_cancelled else 1.0)
    gate = fake_provider.gate()

    def slow_judge(request: Recorded) -> Any:
        is_judge = request.messages[0]["content"].startswith("You compare")
        return reply(chunks=["It is ", gate])(request) if is_judge else by_prompt(request)

    fake_provider.rule(slow_judge)
    await in_db(draft_prompt)(assistant=cast.support, text="Be kind.")
    evaluation = await in_db(made)(cast, Question("Closed?"), judge_model="the-judge")
    await in_db(begin)(evaluation=evaluation, in_background=False)
    work = asyncio.create_task(run_evaluation(tenant_id=cast.acme.pk, pk=evaluation.pk))
    if is_cancelled:
        await asyncio.to_thread(gate.wait_reached)
        await in_db(cancel)(evaluation=evaluation)
    await work
    gate.release()
    spent = await UsageEntry.objects.aget(model="the-judge")
    assert spent.is_estimated and spent.input_tokens > 100
    case = await evaluation.cases.aget()
    assert case.model_reason == ("" if is_cancelled else "The judge took more than 1 seconds.")


async def test_expectations_decide_what_has_passed_also_afterwards(
    runs: None, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(draft_prompt)(assistant=cast.support, text="Be kind.")
    fake_provider.rule(by_prompt)
    evaluation = await in_db(made)(cast, Question("?", expected_text="WE OPEN"), Question("??"))
    await run_it(evaluation)
    passed = EvaluationResult.objects.order_by("case__position", "side").values_list("is_passed", flat=True)
    assert [one async for one in passed] == [True, False, None, None]
    case = await EvaluationCase.objects.select_related("evaluation__tenant", "evaluation__assistant").aget(position=2)
    await in_db(expect)(case=case, tool="get_order", text="", actor=cast.amy)
    assert [one async for one in passed.all()][2:] == [False, False]
    await in_db(judge)(case=case, verdict="worse", note="No.", actor=cast.amy)
    cases = await in_db(lambda: list(evaluation.cases.prefetch_related("results")))()
    assert figures_of(cases).judged == {"better": 0, "same": 0, "worse": 1}


async def test_a_used_up_quota_ends_it_and_says_so(
    runs: None, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await TenantLimits.objects.acreate(tenant=cast.acme, tenant_tokens_per_day=1)
    evaluation = await run_it(await in_db(made)(cast))
    # The first answer may use what is left; it is counted, and the second refused.
    assert evaluation.state == "failed" and "1 token a day" in evaluation.problem
    assert len(fake_provider.requests) < 4


async def test_a_cancelled_one_stops_and_another_may_not_begin_meanwhile(
    runs: None, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    evaluation = await in_db(made)(cast)
    await in_db(begin)(evaluation=evaluation, actor=cast.amy)
    with pytest.raises(EvaluationRefused, match="already"):
        await in_db(begin)(evaluation=evaluation)
    gate = fake_provider.gate()
    fake_provider.rule(reply(chunks=["x", gate]))
    work = asyncio.create_task(run_evaluation(tenant_id=cast.acme.pk, pk=evaluation.pk))
    await until(Run.objects.filter(is_test=True).exists)
    assert await in_db(cancel)(evaluation=evaluation, actor=cast.amy)
    await work
    gate.release()
    await evaluation.arefresh_from_db()
    assert evaluation.state == "cancelled" and not await EvaluationResult.objects.aexists()
    assert not await Job.objects.filter(state=Job.State.WAITING).aexists()
    assert not await Conversation.objects.aexists()


async def test_another_process_goes_on_where_one_died(
    runs: None, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    evaluation = await in_db(made)(cast)
    await in_db(begin)(evaluation=evaluation)
    first = await evaluation.cases.afirst()
    await EvaluationResult.objects.acreate(tenant=cast.acme, case=first, side="published", answer="Before it died.")
    fake_provider.rule(by_prompt)
    await run_evaluation(tenant_id=cast.acme.pk, pk=evaluation.pk)
    found = await in_db(results)(evaluation)
    assert found == [(1, "published", "Before it died."), (2, "published", "At nine.")]


async def test_the_job_of_one_that_is_gone_is_done(cast: Cast) -> None:
    evaluation = await in_db(made)(cast)
    await in_db(begin)(evaluation=evaluation)
    await evaluation.adelete()
    started: list[LongWork] = []
    assert await in_db(do_due_jobs)(start=started.append) == 1
    assert (await Job.objects.aget()).state == "done" and not started


async def test_a_process_that_was_taken_for_dead_stores_nothing_any_more(
    runs: None, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    evaluation = await in_db(made)(cast, Question("When?"))
    await in_db(begin)(evaluation=evaluation)
    started: list[LongWork] = []
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Too ", gate, "late."])
    assert await in_db(do_due_jobs)(start=started.append) == 1
    frozen = asyncio.create_task(started[0]())
    await asyncio.to_thread(gate.wait_reached)
    # The first one may renew its job in between.
    for _ in range(20):
        await Job.objects.filter(state=Job.State.WAITING).aupdate(due_at=timezone.now() - timedelta(seconds=1))
        if await in_db(do_due_jobs)(start=started.append):
            break
    assert len(started) == 2
    gate.release()
    await frozen
    await evaluation.arefresh_from_db()
    assert evaluation.state == "running" and not await EvaluationResult.objects.aexists()
    fake_provider.reply("At nine.")
    await started[1]()
    await evaluation.arefresh_from_db()
    assert (evaluation.state, await in_db(results)(evaluation)) == ("done", [(1, "published", "At nine.")])
    assert not await Job.objects.filter(state=Job.State.WAITING).aexists()


async def test_a_server_runs_it_in_the_background(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.rule(by_prompt)
    evaluation = await in_db(made)(cast)
    await in_db(begin)(evaluation=evaluation, actor=cast.amy)
    await until(Evaluation.objects.filter(state="done").exists, timeout=60.0)
    assert [answer for _, _, answer in await in_db(results)(evaluation)] == ["At nine."] * 2


def test_limits_and_what_cannot_be_made(cast: Cast) -> None:
    made(cast)
    with pytest.raises(EvaluationRefused, match="of this name"):
        made(cast)
    with pytest.raises(EvaluationRefused, match="no such question"):
        make_evaluation(assistant=cast.support, name="None", questions=[])
    many = make_evaluation(assistant=cast.support, name="Many", questions=typed_questions("a\n\n" * 60), actor=cast.amy)
    assert many.cases.count() == 50
    with pytest.raises(EvaluationRefused, match="not a member"):
        begin(evaluation=many)
    Evaluation.objects.filter(pk=many.pk).update(state="running")
    Evaluation.objects.create(tenant=cast.acme, assistant=cast.support, name="Third", state="waiting")
    with pytest.raises(EvaluationRefused, match="Too many"):
        begin(evaluation=Evaluation.objects.get(name="Hours"))


def test_questions_go_with_the_person_who_asked_and_reading_them_is_recorded(cast: Cast) -> None:
    question = question_of_run(run=asked(cast))
    assert question is not None
    evaluation = made(cast, question, Question("Typed in."))
    assert AuditEntry.objects.get(action="conversation.read").details["reason"] == "evaluation Hours"
    erase_user(user=cast.alice, actor=cast.root)
    assert [case.question for case in evaluation.cases.all()] == ["Typed in."]
    make_member(cast.acme, "ada", role="owner")
    erase_user(user=cast.amy, actor=cast.root)
    assert Evaluation.objects.get().run_as is None


def test_retention_empties_recorded_calls_and_deletes_answers_and_what_a_dead_process_left(cast: Cast) -> None:
    evaluation = made(cast, question_of_run(run=asked(cast)) or Question(""), Question("Typed in."))
    for case in evaluation.cases.all():
        EvaluationResult.objects.create(tenant=cast.acme, case=case, side="draft", answer="a", calls=[{"name": "x"}])
    left = make_conversation(cast.amy, cast.support, is_stateless=True, test_tools="replay")
    Retention.objects.create(tenant=cast.acme, tool_calls=10, conversations=30)
    assert apply_retention(tenant=cast.acme) == {}
    days_ago(20)
    Conversation.objects.filter(pk=left.pk).update(updated_at=timezone.now() - timedelta(days=2))
    counts = apply_retention(tenant=cast.acme)
    assert {name: counts[name] for name in counts if "eval" in name or "replay" in name} == {
        "calls in evaluations": 2, "recorded calls in evaluations": 1, "replayed questions": 1,
    }  # fmt: skip
    assert not EvaluationCase.objects.exclude(recorded=[]).exists()
    days_ago(40)
    assert apply_retention(tenant=cast.acme)["answers in evaluations"] == 1
    assert EvaluationResult.objects.get().case.conversation is not None


def days_ago(number: int) -> None:
    then = timezone.now() - timedelta(days=number)
    EvaluationCase.objects.update(created_at=then)
    EvaluationResult.objects.update(created_at=then)


def test_the_operator_switches_evaluations_off(cast: Cast, settings: Any) -> None:
    evaluation = made(cast)
    settings.ASSISTANT_PROMPT_TESTS = False
    with pytest.raises(EvaluationRefused, match="switched off"):
        begin(evaluation=evaluation)
