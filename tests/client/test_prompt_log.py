"""The log of whole prompts and replies, in a script and in tenants' runs."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from assistant.client import ChatClient, Message, PromptLog, ToolCall
from assistant.contrib.titles.side_question import ask_aside
from assistant.core.values.timeline import Timeline
from assistant.providers import ScriptedModel
from assistant.services.runs.extensions.run_extension import FinishedRun
from assistant.toolkit import tool
from tests.core.scripted_turns import plan_for


@tool
def find(name: str) -> str:
    """Find somebody."""
    return "bob@example.com, card 4111 1111 1111 1111"


def texts(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "assistant.prompts"]


async def test_requests_and_replies_are_logged_without_what_is_private(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "assistant.prompts")
    model = ScriptedModel([ToolCall("", "find", '{"name": "Bob"}'), "Found him."])
    client = ChatClient(model=model, tools=[find], system="Be brief.", extensions=[PromptLog()])
    await client.call("Where is Bob? My key is sk-abcdefghijklmnop.")
    first, call, second, answer = texts(caplog)
    assert "Be brief." in first and "Where is Bob?" in first and '"find"' in first
    assert 'find {"name": "Bob"}' in call and "Found him." in answer
    assert "[hidden], card [hidden]" in second
    assert not any(private in text for text in texts(caplog) for private in ("bob@", "4111", "sk-abc"))


async def test_summaries_are_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "assistant.prompts")
    long = [Message("user" if number % 2 == 0 else "assistant", "bob@example.com " * 200) for number in range(8)]
    model = ScriptedModel(["He is bob@example.com."] * 30)
    await ChatClient(model=model, extensions=[PromptLog()]).compact(long, tokens=3_000)
    asked, answered = texts(caplog)[:2]
    assert "Summarise this conversation" in asked and "[hidden]" in asked
    assert "He is [hidden]." in answered
    assert "bob@" not in caplog.text


async def test_titles_and_follow_up_questions_of_a_run_are_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "assistant.prompts")
    plan = plan_for(['{"title": "Mail of bob@example.com"}'], extensions=(PromptLog(),))
    run = FinishedRun(cast("Any", None), plan, (), Timeline(), cast("Any", None), cast("Any", None))
    await ask_aside(
        run.answered_by.model,
        question="Write to bob@example.com",
        answer="Sent.",
        sources=(),
        wants_title=True,
        wants_questions=True,
        on_usage=lambda name, usage: None,
    )
    asked, answered = texts(caplog)
    assert "Write to [hidden]" in asked and "questions" in asked
    assert answered == 'Beside a run: the model answers: {"title": "Mail of [hidden]"}'


async def test_nothing_is_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await ChatClient(model=ScriptedModel(["Hello."])).call("a secret word")
    assert "a secret word" not in caplog.text
