"""The parts of a client's RunAgentInput that the server uses."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from assistant.services.errors import Refused
from assistant.services.runs.run_input import parse_input
from assistant.services.text import JSONOutOfBounds, read_json
from assistant.toolkit.bounded_json import MAX_DEPTH
from assistant.toolkit.text import clean_text


def user(text: Any, message_id: str = "u1") -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": text}


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def given(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"threadId": str(uuid.uuid4()), "runId": "r1", "messages": list(messages), **fields}


def test_only_the_trailing_user_message_is_used() -> None:
    taken = parse_input(given(user("old", "u0"), {"id": "a", "role": "assistant", "content": "x"}, user("new")))
    assert taken.message is not None
    assert (taken.message.id, taken.message.text) == ("u1", "new")


def test_history_and_system_messages_of_a_client_are_ignored() -> None:
    taken = parse_input(given({"id": "s", "role": "system", "content": "obey"}))
    assert taken.message is None
    assert taken.tool_answers == ()


def test_tool_results_after_the_last_assistant_message_are_used() -> None:
    answer = {"id": "t", "role": "tool", "toolCallId": "c1", "content": "red"}
    taken = parse_input(given({"id": "a", "role": "assistant", "content": "x"}, answer, user("and?")))
    assert [(a.tool_call_id, a.text) for a in taken.tool_answers] == [("c1", "red")]
    assert taken.message is not None


def test_text_parts_are_joined() -> None:
    taken = parse_input(given(user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])))
    assert taken.message is not None
    assert taken.message.text == "a\nb"


@pytest.mark.parametrize(
    ("frame", "names"),
    [
        ({"runId": "r", "messages": []}, "threadId"),
        (given(user("hi"), threadId=""), "threadId"),
        (given(user("hi"), threadId="x" * 201), "threadId"),
        (given(user("hi"), threadId="nul \x00"), "threadId"),
        (given(user("hi"), runId="x" * 201), "runId"),
        (given(user("hi"), runId="lone \ud800"), "runId"),
        (given(user("hi"), forwardedProps={"whenBusy": "wait"}), "refuse, queue, replace"),
        (given(user("hi"), forwardedProps={"onDisconnect": "stop"}), "continue, cancel"),
        (given(user("hi"), forwardedProps="model=small"), "forwardedProps must be an object"),
        (given(user("hi"), forwardedProps=["model"]), "forwardedProps must be an object"),
        (given(user([{"type": "binary", "mimeType": "image/png"}])), "messages.0.user.content.0: Input tag 'binary'"),
        (given(user([{"type": "text"}])), "messages.0.user.content.0.text.text: Field required"),
        (given(user("hi"), context=[{"description": "page", "value": "x" * 40_000}]), "context"),
        (given(user("hi"), state={"draft": "x" * 40_000}), "state"),
        (given(user("  ")), "empty"),
        (given(user("x" * 300_000)), "characters"),
        (given(user([{"type": "audio", "source": {"type": "url", "value": "https://x"}}])), "text, image and document"),
        (given({"id": "x", "role": "wizard", "content": "y"}), "messages"),
        (given(user("hi"), tools=[{"name": "a b", "description": "x"}]), "tools"),
        (given(user("hi"), tools=[{"name": f"t{n}", "description": "x"} for n in range(200)]), "128"),
        (given(resume=[{"interruptId": "i", "status": "resolved"}]), "approved"),
        (
            given(resume=[{"interruptId": "i", "status": "resolved", "payload": {"approved": True, "args": {}}}]),
            "editedArgs",
        ),
    ],
)
def test_a_refusal_names_what_is_wrong(frame: dict[str, Any], names: str) -> None:
    with pytest.raises(Refused, match=names) as refusal:
        parse_input(frame)
    assert refusal.value.code == "invalid_input"


def test_a_file_is_not_fetched_from_an_address() -> None:
    with pytest.raises(Refused, match="not fetched from addresses") as refusal:
        parse_input(given(user([{"type": "image", "source": {"type": "url", "value": "https://x"}}])))
    assert refusal.value.code == "attachment_refused"


@pytest.mark.parametrize("name", ["main", "../../etc", "a b", "ünï", "x" * 200])
def test_threads_and_runs_have_any_name(name: str) -> None:
    taken = parse_input(given(user("hi"), threadId=name, runId=name))
    assert (taken.thread_key, taken.run_id) == (name, name)


def test_an_id_of_ours_is_no_key() -> None:
    ours = str(uuid.uuid4())
    taken = parse_input(given(user("hi"), threadId=ours))
    assert (str(taken.thread_id), taken.thread_key) == (ours, "")
    assert parse_input(given(user("hi"), threadId=ours.upper())).thread_key == ours.upper()


def test_a_refusal_does_not_repeat_the_input() -> None:
    with pytest.raises(Refused) as refusal:
        parse_input(given(user("hi"), messages="sesame"))
    assert "sesame" not in str(refusal.value)


def test_characters_that_databases_cannot_store_are_removed() -> None:
    assert clean_text("a\x00b") == "a\N{REPLACEMENT CHARACTER}b"
    assert clean_text("a\ud800b").encode()
    assert clean_text("🦊 \u202e") == "🦊 \u202e"


def test_a_cancelled_interrupt_declines_the_call() -> None:
    taken = parse_input(given(resume=[{"interruptId": "i", "status": "cancelled"}]))
    assert taken.resume[0].approved is False


@pytest.mark.parametrize("number", [-(2**63), 2**63 - 1])
def test_every_number_of_64_bits_is_read(number: int) -> None:
    assert read_json(str(number)) == number


@pytest.mark.parametrize(
    "text",
    [
        str(-(2**63) - 1),
        str(2**63),
        str(2**70),
        "1e999",
        *(pytest.param(nested(levels), id=f"{levels} levels") for levels in (MAX_DEPTH + 1, 900, 9_000, 50_000)),
    ],
)
def test_json_out_of_bounds_is_not_reported_as_invalid(text: str) -> None:
    with pytest.raises(JSONOutOfBounds):
        read_json(text)


@pytest.mark.parametrize("levels", [1, MAX_DEPTH - 1, MAX_DEPTH])
def test_json_is_read_down_to_the_deepest_level(levels: int) -> None:
    assert json.dumps(read_json(nested(levels))) == nested(levels)
