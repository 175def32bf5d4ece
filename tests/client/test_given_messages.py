"""Histories as the openai package writes them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage

from assistant.client import ChatClient, Message, PromptTemplate
from assistant.core.llm.protocol import ModelError
from assistant.providers import ScriptedModel

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
IMAGE = f"data:image/png;base64,{PNG}"
CALL = {"id": "c1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}


async def sent(history: Any, message: Any = "Go on") -> list[Message]:
    model = ScriptedModel("ok")
    await ChatClient(model=model).call(message, history=history)
    return list(model.requests[0].messages)


async def test_chat_completions_as_mappings_and_objects() -> None:
    answer = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [CALL]})
    history = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "What time"}, {"type": "text", "text": "is it?"}]},
        answer,
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "12:00"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot say."}]},
    ]
    messages = await sent(history)
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [message.content for message in messages][1:5] == ["What time\n\nis it?", "", "12:00", "I cannot say."]
    assert messages[2].tool_calls[0].name == "get_time"


async def test_calls_and_results_as_older_histories_have_them() -> None:
    history = [
        {"role": "user", "content": "What time is it?"},
        {"role": "assistant", "content": None, "function_call": {"name": "get_time", "arguments": "{}"}},
        {"role": "function", "name": "get_time", "content": "12:00"},
    ]
    _, call, result, _ = await sent(history)
    assert (call.tool_calls[0].name, result.role, result.content) == ("get_time", "tool", "12:00")
    assert call.tool_calls[0].id == result.tool_call_id


async def test_pdfs_are_in_messages_of_the_user_only() -> None:
    part = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}
    (message,) = await sent((), [{"role": "user", "content": [part]}])
    assert [one.media_type for one in message.media] == ["application/pdf"]
    with pytest.raises(ValueError, match="only be in a message of the user"):
        await sent([{"role": "tool", "tool_call_id": "c1", "content": [part]}])


async def test_images_and_files_among_the_parts() -> None:
    text = base64.b64encode(b"Umbrellas: 30 days.").decode()
    parts = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": IMAGE}},
        {"type": "file", "file": {"filename": "a.txt", "file_data": f"data:text/plain;base64,{text}"}},
    ]
    (message,) = await sent((), [{"role": "user", "content": parts}])
    assert [one.media_type for one in message.media] == ["image/png"]
    assert "Umbrellas: 30 days." in message.content


async def test_items_of_responses() -> None:
    said = {"type": "output_text", "text": "One moment.", "annotations": []}
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [said]}
    call = {"type": "function_call", "call_id": "c1", "name": "get_time", "arguments": "{}"}
    history = [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "Time?"}, {"type": "input_image", "image_url": IMAGE}],
        },
        {"type": "reasoning", "id": "rs_1", "summary": []},
        ResponseOutputMessage.model_validate(message),
        ResponseFunctionToolCall.model_validate(call),
        ResponseFunctionToolCall.model_validate({**call, "call_id": "c2"}),
        {"type": "function_call_output", "call_id": "c1", "output": "12:00"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "13:00"}]},
    ]
    messages = await sent(history)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert (messages[1].content, [call.id for call in messages[1].tool_calls]) == ("One moment.", ["c1", "c2"])
    assert [one.content for one in messages[2:4]] == ["12:00", "13:00"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": "no role"},
        {"role": "user", "content": 7},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/owl.png"}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,!"}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {}}]},
        "a text",
        7,
    ],
)
async def test_what_cannot_be_sent_is_a_value_error(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        await sent([wrong])


async def test_usage_is_counted_by_model() -> None:
    busy = ModelError("Busy.", "provider_rate_limited", kind="busy")
    client = ChatClient(model=ScriptedModel([busy]), fallback=ScriptedModel("Hello.", name="second"))
    reply = await client.call("Hi")
    assert reply.usage_by_model["second"].output_tokens > 0
    assert sum(one.total_tokens for one in reply.usage_by_model.values()) == reply.usage.total_tokens


@pytest.mark.parametrize("given", ["Hello", b"Hello", 3, PromptTemplate("Hi")])
async def test_a_history_is_a_list_of_messages(given: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"history is a list of messages, such as reply\.messages, not {type(given).__name__}"
    ):
        await ChatClient(model=ScriptedModel("ok")).call("Hi", history=given)
