"""How the kind of a provider is guessed, and what a history looks like in each form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message, ToolCall
from assistant.providers import OpenAIModel
from assistant.providers.openai_wire.request_body import RESERVED, InvalidExtraBody, request_body
from assistant.providers.profiles.choice import KINDS, guessed_kind, profile_of
from assistant.providers.profiles.profile import Profile
from assistant.toolkit import Media
from tests.core.scripted_turns import run_script
from tests.core.toolcalls.test_batch import add
from tests.providers.kinds import KINDS as PICKY

PNG = b"\x89PNG\r\n\x1a\n0000"


@pytest.mark.parametrize(
    ("url", "model", "kind"),
    [
        ("https://api.openai.com/v1", "gpt-4.1", "openai"),
        ("https://acme.openai.azure.com/openai/v1", "chat", "azure"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro", "gemini"),
        ("https://us-central1-aiplatform.googleapis.com/v1", "google/gemini-3-pro", "gemini"),
        ("https://api.mistral.ai/v1", "mistral-large", "mistral"),
        ("https://api.deepseek.com", "deepseek-chat", "deepseek"),
        ("https://api.moonshot.ai/v1", "kimi-k2", "kimi"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen-max", "qwen"),
        ("https://api.groq.com/openai/v1", "qwen/qwen3-32b", "groq"),
        ("https://api.anthropic.com/v1", "claude-sonnet-4-5", "anthropic-compatible"),
        ("http://localhost:11434/v1", "qwen3", "ollama"),
        ("http://localhost:8000/v1", "Qwen/Qwen3-32B", "qwen"),
        ("http://localhost:8000/v1", "moonshotai/Kimi-K2-Thinking", "kimi"),
        ("http://localhost:8000/v1", "mistralai/Devstral-Small", "mistral"),
        ("https://openrouter.ai/api/v1", "deepseek/deepseek-v3.2", "deepseek"),
        ("https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", "anthropic-compatible"),
        ("http://vllm:8000/v1", "google/gemma-3", "vllm"),
        ("http://llama-server:8080/v1", "gemma", "llama.cpp"),
        ("http://127.0.0.1:99999/v1", "test-model", "openai"),
        ("https://notopenai.com.example.org/v1", "own", "openai"),
    ],
)
def test_the_kind_is_guessed_from_the_address_and_the_model(url: str, model: str, kind: str) -> None:
    assert guessed_kind(url, model) == kind


def test_every_kind_has_a_server_that_takes_nothing_else() -> None:
    assert set(KINDS) == set(PICKY)
    assert all(profile_of(kind, "", "m").kind == kind for kind in KINDS)
    with pytest.raises(ValueError, match="no kind of provider named 'acme'"):
        OpenAIModel("m", kind="acme")


def body_of(messages: list[Message], profile: Profile, **options: Any) -> dict[str, Any]:
    request = ModelRequest(messages, options=options.pop("options", {}))
    sent: dict[str, Any] = json.loads(
        request_body(request, model="m", strict=False, with_usage=False, profile=profile, **options)
    )
    return sent


def test_texts_are_sent_as_parts_where_only_parts_are_taken() -> None:
    call = Message("assistant", tool_calls=(ToolCall("1", "get", "{}"),))
    messages = [Message("system", "S"), Message("user", "Hi"), call, Message("tool", "ok", tool_call_id="1")]
    sent = body_of(messages, Profile("k", content="parts"))["messages"]
    assert [one["content"] for one in sent] == [
        [{"type": "text", "text": "S"}],
        [{"type": "text", "text": "Hi"}],
        None,
        [{"type": "text", "text": "ok"}],
    ]


def test_images_are_not_sent_where_only_text_is_taken() -> None:
    call = Message("assistant", tool_calls=(ToolCall("1", "get", "{}"),))
    result = Message("tool", "[Attached image]", tool_call_id="1", media=(Media(PNG, "image/png"),))
    messages = [Message("user", "Hi"), call, result]
    assert len(body_of(messages, Profile("k"), sees_images=True)["messages"]) == 4
    assert len(body_of(messages, Profile("k", content="text"), sees_images=True)["messages"]) == 3


def test_a_users_images_that_are_not_sent_are_mentioned() -> None:
    shown = Message("user", "", media=(Media(PNG, "image/png"),))
    (sent,) = body_of([shown], Profile("k", content="text"), sees_images=True)["messages"]
    assert sent["content"] == "[Images that are not shown: 1]"
    (sent,) = body_of([shown], Profile("k"), sees_images=True)["messages"]
    assert [part["type"] for part in sent["content"]] == ["image_url"]


def test_images_join_the_users_next_message_where_messages_alternate() -> None:
    call = Message("assistant", tool_calls=(ToolCall("1", "get", "{}"),))
    result = Message("tool", "[Attached image]", tool_call_id="1", media=(Media(PNG, "image/png", name="a.png"),))
    messages = [Message("user", "Hi"), call, result, Message("user", "And?")]
    sent = body_of(messages, profile_of("mistral", "", "m"), sees_images=True)["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert [part["type"] for part in sent[-1]["content"]] == ["text", "image_url", "text"]


def test_system_messages_become_one_and_the_first() -> None:
    messages = [Message("user", "Hi"), Message("system", "One"), Message("assistant", "Yes"), Message("system", "Two")]
    sent = body_of(messages, Profile("k"))["messages"]
    assert [(one["role"], one["content"]) for one in sent] == [
        ("system", "One\n\nTwo"),
        ("user", "Hi"),
        ("assistant", "Yes"),
    ]


def test_requested_options_replace_those_of_the_provider() -> None:
    extra = {"temperature": 1, "top_k": 5}
    sent = body_of([Message("user", "Hi")], Profile("k"), options={"temperature": 0.2}, extra=extra)
    assert (sent["temperature"], sent["top_k"], sent["model"]) == (0.2, 5, "m")


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_what_a_request_contains_anyway_cannot_be_set(name: str) -> None:
    with pytest.raises(InvalidExtraBody, match=name):
        OpenAIModel("m", extra_body={name: []})


@pytest.mark.parametrize("options", [[1], "text", {1: 2}, {"a": object()}, {"a": "\ud800"}])
def test_options_that_are_no_json_are_refused(options: Any) -> None:
    with pytest.raises(InvalidExtraBody, match="JSON"):
        OpenAIModel("m", extra_body=options)


async def test_outer_spaces_of_a_called_tools_name_are_left_out() -> None:
    turn = await run_script([ToolCall("", " add\n", '{"a": 1, "b": 2}'), "3"], add)
    assert turn.journal.statuses == {"add": "ok"}
    assert [call.name for message in turn.transcript.messages for call in message.tool_calls] == ["add"]
