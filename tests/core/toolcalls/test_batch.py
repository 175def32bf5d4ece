from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from assistant.client.tool_interceptors import Redact
from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.core.toolcalls.call_settings import Questions
from assistant.core.toolcalls.protocols import Admission, Decision, FixedToolset, PlannedCall, ToolOutcome
from assistant.core.turn.loop import Limits, run_turn
from assistant.core.values.events import RunError
from assistant.core.values.messages import Message, ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.toolkit import Change, Question, Tool, ToolContext, ToolError, ToolResult, tool
from tests.core.scripted_turns import USER, MemoryJournal, check_history, plan_for, run_script, streamed_arguments


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail() -> str:
    """Fail."""
    raise ValueError("password=hunter2")


@tool
async def hang() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return ""


def call(name: str, arguments: str = "{}", call_id: str = "") -> ToolCall:
    return ToolCall(call_id, name, arguments)


ADD = call("add", '{"a":1,"b":2}', "c-add")


class Switched(FixedToolset):
    """Tools with policies that a test sets."""

    def __init__(self, *tools: Tool, **policies: Any) -> None:
        super().__init__(tools)
        self.policies = policies

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        return [
            Admission(a.tool, self.policies.get(c.name, "on"), "Because.", callable_names=("other",))
            for c, a in zip(calls, await super().admit(calls), strict=True)
        ]


def waiting_for(*calls: ToolCall) -> tuple[Message, ...]:
    """Return the history of a run that ended with calls that wait for approval."""
    return (USER, Message("assistant", "", id="a1", tool_calls=calls))


# Errors


async def test_a_failing_tool_does_not_stop_the_others_of_its_batch() -> None:
    turn = await run_script([[call("fail"), ADD], "ok"], fail, add)
    assert turn.results[1] == "3"
    assert turn.journal.statuses == {"fail": "error", "add": "ok"}


async def test_the_model_reads_only_that_a_tool_failed(caplog: pytest.LogCaptureFixture) -> None:
    turn = await run_script([call("fail"), "ok"], fail)
    (outcome,) = turn.journal.outcomes
    assert turn.results == [f"The tool failed (error id {outcome.error_id})."]
    assert outcome.error_id in caplog.text
    assert "hunter2" in caplog.text


async def test_a_tool_error_is_read_by_the_model() -> None:
    @tool
    def refuse() -> str:
        """Refuse."""
        raise ToolError("Nobody has the number 7.")

    turn = await run_script([call("refuse"), "ok"], refuse)
    assert turn.results == ["Nobody has the number 7."]
    assert turn.journal.statuses == {"refuse": "error"}


@pytest.mark.parametrize(("reads_only", "status"), [(False, "unknown"), (True, "error")])
async def test_what_may_have_happened_is_not_told_as_failed(reads_only: bool, status: str) -> None:
    @tool(read_only=reads_only)
    def pay() -> str:
        """Pay."""
        raise ToolError("The bank did not answer.", may_have_run=True)

    turn = await run_script([call("pay"), "ok"], pay)
    assert turn.journal.statuses == {"pay": status}
    assert ("took effect is not known" in turn.results[0]) is not reads_only


def group(*errors: Exception) -> ExceptionGroup[Exception]:
    return ExceptionGroup("several", errors)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (group(ToolError("No such table.")), "No such table."),
        (group(group(group(ToolError("No such table.")))), "No such table."),
        (group(ToolError("One."), group(ToolError("Two."), ToolError("One."))), "One.\nTwo."),
        (group(ToolError("One."), ValueError("password=hunter2")), "The tool failed (error id "),
        (group(group(ValueError("password=hunter2"))), "The tool failed (error id "),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_group_of_tool_errors_is_read_by_the_model(error: Exception, sentence: str, is_async: bool) -> None:
    @tool(name="refuse")
    async def refuse() -> str:
        """Refuse."""
        raise error

    @tool(name="refuse")
    def refuse_in_thread() -> str:
        """Refuse."""
        raise error

    turn = await run_script([call("refuse"), "ok"], refuse if is_async else refuse_in_thread)
    assert turn.results[0].startswith(sentence) and "hunter2" not in turn.results[0]


async def test_a_tool_error_in_a_task_group_is_read_by_the_model_and_seen_by_interceptors() -> None:
    @tool
    async def look_up() -> str:
        """Look two things up."""

        async def refuse() -> None:
            raise ToolError("Card 4111 was refused.")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(refuse())
            tasks.create_task(asyncio.Event().wait())
        return "never"

    turn = await run_script([call("look_up"), "ok"], look_up, interceptors=(Redact("4111"),))
    assert turn.results == ["Card [hidden] was refused."]


async def test_a_tool_can_choose_that_its_failure_ends_the_run() -> None:
    turn = await run_script([[call("fail"), ADD]], fail.replace(on_error="raise"), add)
    assert turn.error.code == "internal_error"
    assert turn.journal.outcomes[0].error_id in turn.error.message
    assert "hunter2" not in turn.error.message
    assert turn.results[1] == "3"


async def test_a_tool_that_exits_the_interpreter_only_fails() -> None:
    @tool
    def leave() -> str:
        """Leave."""
        raise SystemExit(1)

    assert (await run_script([call("leave"), "ok"], leave)).journal.statuses == {"leave": "error"}


async def test_the_error_for_an_unknown_tool_lists_the_callable_ones() -> None:
    turn = await run_script([call("addd", "{}"), "ok"], add)
    assert turn.results == ["There is no tool named 'addd'. Tools that may be called now: add."]


async def test_the_model_reads_which_arguments_are_invalid() -> None:
    turn = await run_script([call("add", '{"a":"x","c":1}'), "ok"], add)
    assert "a:" in turn.results[0] and "b: missing" in turn.results[0] and "c: unknown" in turn.results[0]
    assert turn.journal.started == []


async def test_arguments_that_are_not_json_are_not_repaired() -> None:
    turn = await run_script([call("add", '{"a":1,"b":2'), "ok"], add)
    assert "not valid JSON" in turn.results[0]
    assert turn.journal.started == []
    assert streamed_arguments(turn) == '{"a":1,"b":null,"__not_json__":"2"}'


# Running


async def test_results_are_sent_in_the_order_of_the_calls() -> None:
    first_may_end = asyncio.Event()

    @tool
    async def slow() -> str:
        """Wait for the other."""
        await first_may_end.wait()
        return "slow"

    @tool
    async def quick() -> str:
        """Answer."""
        first_may_end.set()
        return "quick"

    turn = await run_script([[call("slow"), call("quick")], "ok"], slow, quick)
    assert turn.results == ["slow", "quick"]
    assert [value["name"] for value in turn.custom("tool.finished")] == ["quick", "slow"]


async def test_sync_tools_run_concurrently_too() -> None:
    both = threading.Barrier(2, timeout=5)

    @tool
    def meet(name: str) -> str:
        """Meet the other."""
        both.wait()
        return name

    turn = await run_script([[call("meet", '{"name":"a"}'), call("meet", '{"name":"b"}')], "ok"], meet)
    assert turn.results == ["a", "b"]


async def test_the_number_of_concurrent_calls_is_limited() -> None:
    running = most = 0

    @tool
    async def count(n: int) -> int:
        """Count."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return n

    calls = [call("count", f'{{"n":{n}}}') for n in range(6)]
    await run_script([calls, "ok"], count, parallel=2)
    assert most == 2


async def test_a_barrier_waits_for_earlier_calls_and_delays_later_ones() -> None:
    order: list[str] = []

    async def note(name: str) -> str:
        """Note the order."""
        order.append(f"{name} begins")
        await asyncio.sleep(0)
        order.append(f"{name} ends")
        return name

    tools = [Tool.from_function(note, name=name, barrier=name == "wall") for name in ("before", "wall", "after")]
    await run_script([[call(t.name, f'{{"name":"{t.name}"}}') for t in tools], "ok"], *tools)
    assert order == ["before begins", "before ends", "wall begins", "wall ends", "after begins", "after ends"]


async def test_a_tool_that_takes_too_long_is_stopped() -> None:
    turn = await run_script([[call("hang"), ADD], "ok"], hang.replace(timeout=0.02), add)
    assert "longer than 0.02 seconds" in turn.results[0]
    assert turn.journal.statuses == {"hang": "timeout", "add": "ok"}


async def test_no_tool_may_take_longer_than_the_run() -> None:
    turn = await run_script([call("hang")], hang, limits=Limits(seconds=0.05))
    assert turn.error.code == "limit_reached"
    assert turn.journal.statuses == {"hang": "timeout"}


async def test_a_timeout_error_raised_by_the_tool_is_a_failure() -> None:
    @tool
    async def give_up() -> str:
        """Give up."""
        raise TimeoutError

    assert (await run_script([call("give_up"), "ok"], give_up)).journal.statuses == {"give_up": "error"}


async def test_progress_state_and_duration_are_sent() -> None:
    @tool
    async def work(context: ToolContext) -> ToolResult:
        """Work."""
        await context.report_progress(1, 4, "a quarter")
        return ToolResult("done", display={"chart": [1, 2]})

    turn = await run_script([call("work", call_id="c1"), "ok"], work)
    assert turn.custom("tool.started") == [{"toolCallId": "c1", "name": "work"}]
    assert turn.custom("tool.progress") == [{"toolCallId": "c1", "done": 1, "total": 4, "message": "a quarter"}]
    (finished,) = turn.custom("tool.finished")
    assert (finished["status"], finished["display"]) == ("ok", {"chart": [1, 2]})
    assert finished["durationMs"] >= 0


async def test_a_tool_gets_the_context_of_its_call() -> None:
    seen: list[ToolContext] = []

    @tool
    async def look(context: ToolContext) -> str:
        """Look."""
        seen.append(context)
        return context.secret("key")

    toolset = FixedToolset([look.replace(secrets=["key"])], secrets={"look": {"key": "s3cret"}})
    await run_script(
        [call("look", call_id="c1"), "ok"], toolset=toolset, context=ToolContext(thread_id="t", extra={"x": 1})
    )
    (context,) = seen
    assert (context.tool_call_id, context.idempotency_key, context.extra["x"]) == ("c1", "t:c1", 1)
    with pytest.raises(Exception, match="other"):
        context.secret("other")
    assert context.deadline is not None
    assert [message.role for message in context.history] == ["user", "assistant"]


async def test_what_ran_before_is_not_run_again() -> None:
    runs: list[int] = []

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        runs.append(amount)
        return "paid"

    stored = ToolOutcome(call("pay", call_id="c1"), "ok", "paid (stored)")
    calls = [call("pay", '{"amount":1}', "c1"), call("pay", '{"amount":2}', "c2")]
    turn = await run_script([calls, "ok"], pay, journal=MemoryJournal({"c1": stored}))
    assert turn.results == ["paid (stored)", "paid"]
    assert runs == [2]


async def test_a_display_that_cannot_be_serialised_does_not_end_the_run() -> None:
    async def odd(invocation: Invocation, call_tool: CallTool) -> ToolResult:
        return ToolResult("half a smile: \ud83d", display={"at": object(), "n": float("nan")})

    turn = await run_script([ADD, "ok"], add, interceptors=(odd,))
    assert turn.results == ["half a smile: \ufffd"]
    assert turn.custom("tool.finished")[0]["display"]["n"] is None


async def test_a_journal_that_fails_ends_the_run_with_an_error() -> None:
    class Broken(MemoryJournal):
        async def starting(self, batch: Sequence[PlannedCall]) -> dict[str, ToolOutcome]:
            raise OSError("disk full")

    turn = await run_script([ADD], add, journal=Broken())
    assert turn.error.code == "internal_error"
    assert turn.results == ["No result: the run ended with an error first."]


async def test_any_failure_can_be_made_to_end_the_run() -> None:
    assert (await run_script([call("fail")], fail, on_error="raise")).error.code == "internal_error"


# Guards


async def test_the_third_identical_call_is_refused_and_the_fifth_ends_the_run() -> None:
    turns = [call("add", text) for text in ('{"a":1,"b":2}', '{"b":2, "a":1}') * 3]
    turn = await run_script(turns, add)
    assert turn.results[:2] == ["3", "3"]
    assert "already" in turn.results[2]
    assert turn.error.code == "limit_reached"
    assert len(turn.results) == 5


async def test_the_calls_of_a_run_are_limited() -> None:
    calls = [call("add", f'{{"a":{n},"b":0}}') for n in range(4)]
    turn = await run_script([calls], add, limits=Limits(tool_calls=3))
    assert turn.results[:3] == ["0", "1", "2"]
    assert "limit of 3 tool calls" in turn.error.message


async def test_the_calls_of_one_tool_are_limited_and_the_run_goes_on() -> None:
    calls = [call("add", f'{{"a":{n},"b":0}}') for n in range(3)]
    turn = await run_script([calls, "ok"], add.replace(max_calls=2))
    assert "2 times" in turn.results[2]
    assert turn.ending.type == "RUN_FINISHED"
    turn = await run_script([calls, "ok"], add.replace(max_calls=1))
    assert "'add' may be called once in one run." in turn.results[1]


# Switches and approvals


async def test_a_tool_that_was_switched_off_is_refused_and_noted() -> None:
    turn = await run_script([ADD, "ok"], toolset=Switched(add, add="off"))
    assert turn.results == ["The tool 'add' may not be used now. Tools that may be called now: other."]
    assert (turn.journal.outcomes[0].status, turn.journal.outcomes[0].rule) == ("refused", "Because.")


async def test_a_call_that_needs_approval_ends_the_run_after_the_other_calls() -> None:
    risky = add.replace(name="risky")
    calls = [call("risky", '{"a":1,"b":1}', "c1"), ADD]
    turn = await run_script([calls], toolset=Switched(add, risky, risky="ask"))
    (interrupt,) = turn.outcome.interrupts
    assert (interrupt.id, interrupt.reason, interrupt.tool_call_id) == ("c1", "tool_call", "c1")
    assert interrupt.response_schema["required"] == ["approved"]
    assert turn.results == ["3"]
    assert turn.journal.statuses == {"risky": "awaiting_approval", "add": "ok"}


def _preview(arguments: Mapping[str, Any], context: ToolContext) -> list[Change]:
    return [Change("Sum", 0, arguments["a"] + arguments["b"])]


def _fails(arguments: Mapping[str, Any], context: ToolContext) -> list[Change]:
    raise RuntimeError("no database")


@pytest.mark.parametrize(
    ("preview", "changes"), [(_preview, [{"label": "Sum", "old": 0, "new": 3}]), (_fails, None), (None, None)]
)
async def test_who_approves_is_told_what_changes_if_the_tool_says_so(preview: Any, changes: Any) -> None:
    risky = add.replace(name="risky", title="Add up", preview=preview)
    turn = await run_script([call("risky", '{"a":1,"b":2}', "c1")], toolset=Switched(risky, risky="ask"))
    (interrupt,) = turn.outcome.interrupts
    assert interrupt.message == "The assistant wants to use “Add up”. Is that all right?"
    assert interrupt.metadata.get("changes") == changes
    assert [field["name"] for field in interrupt.metadata["form"]] == ["a", "b"]


def _refuses(arguments: Mapping[str, Any], context: ToolContext) -> list[Change]:
    raise ToolError("There is no such sum.")


@pytest.mark.parametrize("is_foreign", [False, True])
async def test_nobody_is_asked_about_a_call_that_its_preview_refuses(is_foreign: bool) -> None:
    risky = add.replace(name="risky", preview=_refuses, untrusted=is_foreign)
    turn = await run_script([call("risky", '{"a":1,"b":2}', "c1"), "Then not."], toolset=Switched(risky, risky="ask"))
    assert turn.journal.statuses == {"risky": "error"}
    assert turn.results == ["There is no such sum."]
    assert [outcome.sources for outcome in turn.journal.outcomes] == [("risky",) if is_foreign else ()]
    assert len(turn.model.requests) == 2  # it goes on with the model


async def test_approval_can_depend_on_the_arguments() -> None:
    careful = add.replace(requires_approval=lambda arguments, context: arguments["a"] > 10)
    assert (await run_script([ADD, "ok"], careful)).results == ["3"]
    asked = await run_script([call("add", '{"a":11,"b":2}')], careful)
    assert asked.journal.statuses == {"add": "awaiting_approval"}


async def test_a_call_that_could_not_run_needs_no_approval() -> None:
    turn = await run_script([call("add", '{"a":"x"}'), "ok"], toolset=Switched(add, add="ask"))
    assert turn.journal.statuses == {"add": "error"}


async def test_an_approved_call_runs_and_the_turn_continues() -> None:
    turn = await run_script(
        ["It is 3."],
        toolset=Switched(add, add="ask"),
        messages=waiting_for(ADD),
        decisions={"c-add": Decision(True)},
    )
    assert turn.results == ["3"]
    assert [m.role for m in turn.model.requests[0].messages] == ["user", "assistant", "tool"]


async def test_edited_arguments_replace_the_models_and_the_model_reads_so() -> None:
    decisions = {"c-add": Decision(True, {"a": 40, "b": 2})}
    turn = await run_script(["ok"], toolset=Switched(add, add="ask"), messages=waiting_for(ADD), decisions=decisions)
    assert turn.results == ['(Who approved this call changed the arguments to {"a": 40, "b": 2})\n42']
    assert turn.custom("tool.finished")[0]["display"] == 42


async def test_edited_arguments_are_validated() -> None:
    decisions = {"c-add": Decision(True, {"a": "many"})}
    turn = await run_script(["ok"], toolset=Switched(add, add="ask"), messages=waiting_for(ADD), decisions=decisions)
    assert "Invalid arguments" in turn.results[0]


async def test_a_declined_call_is_not_run_and_the_model_reads_why() -> None:
    decisions = {"c-add": Decision(False, reason="Too dear")}
    turn = await run_script(["ok"], add, messages=waiting_for(ADD), decisions=decisions)
    assert "declined" in turn.results[0] and "Too dear" in turn.results[0]
    assert turn.journal.statuses == {"add": "declined"}


async def test_a_person_can_answer_in_place_of_the_tool() -> None:
    decisions = {"c-add": Decision(True, response="Three.")}
    turn = await run_script(["ok"], add, messages=waiting_for(ADD), decisions=decisions)
    assert turn.results == ["Three."]
    assert turn.journal.started == []


async def test_an_approval_does_not_outlive_the_permission() -> None:
    turn = await run_script(
        ["ok"], toolset=Switched(add, add="off"), messages=waiting_for(ADD), decisions={"c-add": Decision(True)}
    )
    assert turn.journal.statuses == {"add": "refused"}


async def test_calls_without_a_decision_are_declined_when_the_user_goes_on() -> None:
    messages = (*waiting_for(ADD), Message("user", "Forget it", id="u2"))
    turn = await run_script(["As you like."], add, messages=messages)
    assert turn.journal.statuses == {"add": "declined"}
    assert [m.role for m in turn.model.requests[0].messages] == ["user", "assistant", "tool", "user"]


async def test_each_call_has_its_own_decision() -> None:
    other = call("add", '{"a":5,"b":5}', "c2")
    decisions = {"c2": Decision(True), "c-add": Decision(False)}
    turn = await run_script(["ok"], add, messages=waiting_for(ADD, other), decisions=decisions)
    assert [outcome.status for outcome in turn.journal.outcomes] == ["declined", "ok"]


# Cancelling


async def test_cancelling_stops_the_tools_and_loses_nothing() -> None:
    started, cleaned = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        return ""

    journal, transcript = MemoryJournal(), Transcript()
    plan = plan_for([[call("work"), ADD]], work, add, journal=journal)

    async def read() -> None:
        async with aclosing(run_turn(plan, transcript)) as events:
            async for event in events:
                if event.type == "CUSTOM" and event.value.get("name") == "add" and "status" in event.value:  # type: ignore[attr-defined]
                    asyncio.current_task().cancel()  # type: ignore[union-attr]

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(read())
    assert started.is_set() and cleaned.is_set()
    assert journal.statuses == {"work": "cancelled", "add": "ok"}
    transcript.close("cancelled")
    check_history([USER, *transcript.messages])
    assert [m.content for m in transcript.messages if m.role == "tool"] == [
        "Cancelled by the user before there was a result.",
        "3",
    ]


async def test_results_are_the_answer_only_if_no_other_call_of_the_reply_ran_before() -> None:
    direct, second = add.replace(return_direct=True), ToolCall("c2", "add", '{"a": 1, "b": 1}')
    decisions = {"c-add": Decision(True), "c2": Decision(True)}
    both = await run_script([], direct, messages=waiting_for(ADD, second), decisions=decisions)
    assert both.messages[-1].content == "3\n\n2"
    messages = (*waiting_for(ADD, second), Message("tool", "2", tool_call_id="c2"))
    rest = await run_script(["They are 3 and 2."], direct, messages=messages, decisions=decisions)
    assert rest.messages[-1].content == "They are 3 and 2."


async def test_a_history_in_which_two_calls_have_one_id_is_refused() -> None:
    plan = plan_for([], add, messages=waiting_for(ADD, ADD), decisions={"c-add": Decision(True)})
    async with asyncio.timeout(5), aclosing(run_turn(plan, Transcript())) as events:
        *_, ending = [event async for event in events]
    assert isinstance(ending, RunError) and ending.code == "invalid_input"
    assert plan.journal.started == []  # type: ignore[attr-defined]


async def test_tools_that_are_not_available_are_not_named_as_alternatives() -> None:
    def broken(context: ToolContext) -> bool:
        raise ValueError

    tools = [add, *(add.replace(name=f"needy_{n}", needs_context=["region"]) for n in range(2))]
    tools.append(add.replace(name="broken", available=broken))
    turn = await run_script([[call("needy_0"), call("made_up")], "ok"], *tools)
    assert turn.results == [
        "The tool 'needy_0' may not be used now. Tools that may be called now: add.",
        "There is no tool named 'made_up'. Tools that may be called now: add.",
    ]


@pytest.mark.parametrize("questions", [Questions(can_ask=False), Questions(has_forms=False)])
async def test_a_tool_that_asks_where_nobody_can_answer_is_no_alternative_and_says_why(questions: Questions) -> None:
    asking = add.replace(name="asking", asks=lambda arguments: Question("How many?", {"type": "object"}))
    turn = await run_script(
        [[call("asking", '{"a":1,"b":1}'), call("made_up")], "ok"], add, asking, questions=questions
    )
    assert turn.results == [
        "'asking' asks a question, which nobody can answer here.",
        "There is no tool named 'made_up'. Tools that may be called now: add.",
    ]
