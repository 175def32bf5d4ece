from __future__ import annotations

import itertools
import random

from assistant.core.values.history_window import NO_RESULT, clear_results, estimate, estimate_tokens, fit, repair
from assistant.core.values.messages import Message, ToolCall
from tests.core.scripted_turns import check_history

SYSTEM = Message("system", "Be kind.")


def user(text: str = "Hello") -> Message:
    return Message("user", text)


def calling(*ids: str) -> Message:
    return Message("assistant", "", tool_calls=tuple(ToolCall(call_id, "add", "{}") for call_id in ids))


def result(call_id: str, text: str = "3") -> Message:
    return Message("tool", text, tool_call_id=call_id)


def shape(messages: list[Message]) -> str:
    return "".join(message.role[0] for message in messages)


def test_a_valid_conversation_is_left_alone() -> None:
    messages = [SYSTEM, user(), calling("a", "b"), result("a"), result("b"), Message("assistant", "6")]
    assert repair(messages) == messages


def test_a_call_without_a_result_gets_one() -> None:
    assert repair([user(), calling("a")])[-1] == result("a", NO_RESULT)


def test_a_result_without_a_call_is_dropped() -> None:
    assert shape(repair([user(), result("a"), calling("b"), result("b"), result("b")])) == "uat"


def test_a_late_result_is_put_where_its_call_is() -> None:
    assert shape(repair([user(), calling("a", "b"), result("b"), user("Well?"), result("a")])) == "uattu"


def test_results_are_in_the_order_of_their_calls() -> None:
    repaired = repair([user(), calling("a", "b"), result("b"), result("a")])
    assert [message.tool_call_id for message in repaired[2:]] == ["a", "b"]


def test_ids_that_repeat_over_the_rounds_keep_their_own_results() -> None:
    repaired = repair([user(), calling("x"), result("x", "1"), calling("x"), result("x", "2")])
    assert [message.content for message in repaired if message.role == "tool"] == ["1", "2"]


def test_an_assistant_that_said_nothing_is_left_out() -> None:
    assert shape(repair([user(), Message("assistant", "", reasoning="Hm", is_partial=True), user()])) == "uu"


def test_tokens_are_about_a_quarter_of_the_bytes() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a" * 400) == 101
    assert estimate_tokens("語" * 400) == 301


def test_everything_stays_when_it_fits() -> None:
    messages = [SYSTEM, user(), Message("assistant", "Hi")]
    assert fit(messages, tokens=1000) == messages
    assert fit(messages) == messages


def test_the_oldest_go_first_and_the_system_prompt_never() -> None:
    messages = [SYSTEM, user("x" * 400), Message("assistant", "y" * 400), user()]
    assert fit(messages, tokens=60) == [SYSTEM, messages[-1]]


def test_the_last_question_stays_however_long_it_is() -> None:
    messages = [SYSTEM, user("old"), Message("assistant", "old"), user("x" * 4000)]
    assert fit(messages, tokens=10) == [SYSTEM, messages[-1]]


def test_a_call_goes_together_with_its_results() -> None:
    messages = [user(), calling("a"), result("a", "x" * 400), user()]
    for tokens in range(1, 150):
        check_history(fit(messages, tokens=tokens))


def test_within_a_long_run_the_newest_rounds_and_the_question_stay() -> None:
    rounds = [m for n in range(10) for m in (calling(str(n)), result(str(n), "x" * 400))]
    kept = fit([SYSTEM, user("The question"), *rounds], tokens=350)
    assert [m.content for m in kept[:2]] == ["Be kind.", "The question"]
    assert kept[-1] == rounds[-1]
    check_history(kept)


def test_what_is_kept_begins_with_a_question() -> None:
    messages = [user("x" * 4000), calling("a"), result("a"), Message("assistant", "3"), user()]
    assert shape(fit(messages, tokens=200)) == "u"


def test_messages_are_counted_too() -> None:
    messages = [SYSTEM, user("1"), Message("assistant", "1"), user("2"), Message("assistant", "2"), user("3")]
    assert [m.content for m in fit(messages, count=3)] == ["Be kind.", "2", "2", "3"]


def test_any_damaged_conversation_comes_out_valid_and_within_its_budget() -> None:
    rng = random.Random(7)
    for _ in range(300):
        parts = [user(), SYSTEM, calling("0", "1"), calling("2"), *map(result, "012"), *map(result, "012")]
        messages = [user(), *rng.sample(parts, k=rng.randrange(len(parts))), user("The last")]
        repaired = repair(messages)
        check_history(repaired)
        budget = rng.randrange(10, 100)
        kept = fit(repaired, tokens=budget)
        check_history(kept)
        assert kept[-1] == repaired[-1]
        assert sum(map(estimate, kept)) <= max(budget, estimate(kept[-1]) + sum(map(estimate, _head(kept))))


def _head(messages: list[Message]) -> list[Message]:
    return list(itertools.takewhile(lambda message: message.role == "system", messages))


def test_results_of_the_newest_round_are_cut_where_they_alone_are_too_much() -> None:
    ids = [f"c{n}" for n in range(20)]
    messages = [user(), calling(*ids), *(result(call_id, "word " * 4_000) for call_id in ids)]
    shrunk = clear_results(messages, tokens=10_000)
    assert sum(map(estimate, shrunk)) < 10_000
    assert all("[Cut here:" in message.content for message in shrunk[2:])
    check_history(shrunk)
