"""What `manage.py assistant_chat` prints of events, and how it reads answers to questions."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management.base import OutputWrapper

from assistant.contrib.terminal.form import fill
from assistant.contrib.terminal.printer import SECONDS_BETWEEN_PROGRESS, EventPrinter
from assistant.core.values import events
from assistant.toolkit.schema.form import form_of

FIELDS = {
    "type": "object",
    "properties": {
        "size": {"enum": ["S", "M"]},
        "extras": {"type": "array", "items": {"enum": ["Gift wrap", "Card"]}},
        "count": {"type": "integer"},
        "weight": {"type": "number"},
        "is_gift": {"type": "boolean"},
        "note": {"type": "string"},
        "more": {"type": "object"},
    },
    "required": ["size"],
}


def printed(*shown: events.Event) -> str:
    output = io.StringIO()
    printer = EventPrinter(OutputWrapper(output))
    for event in shown:
        printer.show(event)
    printer.end_line()
    return output.getvalue()


def test_steps_of_tools_are_lines_between_the_text(settings: Any) -> None:
    settings.ASSISTANT_PUBLIC_URL = "https://assistant.example.com/"
    file = {"name": "invoice.pdf", "mediaType": "application/pdf", "size": 2048, "url": "/assistant/files/1"}
    lines = printed(
        events.TextMessageContent("m", "Let me "),
        events.TextMessageContent("m", "look."),
        events.ToolCallStart("c", "make_invoice"),
        events.Custom("tool.progress", {"toolCallId": "c", "done": 1.0, "total": 4.0, "message": "Adding up"}),
        events.ToolCallResult("r", "c", "Done."),
        events.Custom("tool.finished", {"toolCallId": "c", "name": "make_invoice", "status": "ok", "media": [file]}),
        events.TextMessageContent("n", "Here it is."),
    ).splitlines()
    assert lines == [
        "Let me look.",
        "[make_invoice]",
        "  1 of 4 Adding up",
        "  = Done.",
        "  file: invoice.pdf (application/pdf, 2.0\xa0KB) https://assistant.example.com/assistant/files/1",
        "Here it is.",
    ]


def test_progress_is_at_most_a_line_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    output = io.StringIO()
    printer = EventPrinter(OutputWrapper(output))
    for done in range(10):
        now += SECONDS_BETWEEN_PROGRESS / 5
        printer.show(events.Custom("tool.progress", {"toolCallId": "c", "done": float(done)}))
    assert output.getvalue().splitlines() == ["  0", "  5"]


@pytest.mark.parametrize(
    "event",
    [
        events.TextMessageContent("m", "\x1b]52;c;bWFsaWNl\x07"),
        events.TextMessageContent("m", "\x9b2J\rYes"),
        events.ToolCallResult("r", "c", "\x1b[2J\x7f"),
        events.RunError("\x1b]0;title\x07", "provider_error"),
    ],
)
def test_a_document_cannot_control_the_terminal(event: events.Event) -> None:
    assert all(one.isprintable() or one in "\n\ufffd" for one in printed(event))


def test_runs_that_wait_or_stop_say_so() -> None:
    waits = events.Interrupt("c", "tool_pending", message="“Order” waits for its result.")
    asks = events.Interrupt("d", "tool_call", message="Is that all right?")
    lines = printed(
        events.Custom("run.queued", {"ahead": 2, "until": "2026-01-01T00:00:00Z"}),
        events.Custom("message.cut", {"messageId": "m", "reason": "length"}),
        events.RunFinished("t", "r", outcome=events.Interrupted([waits, asks])),
        events.RunFinished("t", "r", outcome=events.Cancelled()),
    ).splitlines()
    # What asks is printed by what reads the answer.
    assert lines == ["[waiting; 2 before this one]", "[cut: length]", "“Order” waits for its result.", "[stopped]"]


def test_sub_agents_are_not_mixed_into_the_answer() -> None:
    assert printed(events.TextMessageContent("m", "Aside.", subagent_run_id="s")) == ""


async def typed(*lines: str) -> tuple[dict[str, Any] | None, list[str]]:
    left = iter(lines)
    prompts = []

    async def read(prompt: str) -> str:
        prompts.append(prompt)
        return next(left, "")

    return await fill([one.as_json() for one in form_of(FIELDS)], read), prompts


async def test_each_field_of_a_question_is_asked() -> None:
    given, prompts = await typed("m\n", "card, gift wrap\n", "2\n", "1.5\n", "Y\n", " Hello \n", '{"a": [1]}\n')
    assert given == {
        "size": "M",
        "extras": ["Card", "Gift wrap"],
        "count": 2,
        "weight": 1.5,
        "is_gift": True,
        "note": "Hello",
        "more": {"a": [1]},
    }
    assert prompts[0] == "Size [S/M]: "
    assert prompts[4] == "Is gift [y/N]: "


async def test_what_does_not_fit_is_left_to_the_question() -> None:
    given, _ = await typed("XL\n", "\n", "two\n", "\n", "no\n", "\n", "[" * 100_000 + "\n")
    assert given == {"size": "XL", "count": "two", "is_gift": False, "more": "[" * 100_000}


@pytest.mark.parametrize("lines", [(), ("\n",)])
async def test_an_empty_answer_to_a_required_field_rejects_the_call(lines: tuple[str, ...]) -> None:
    given, prompts = await typed(*lines)
    assert (given, len(prompts)) == (None, 1)
