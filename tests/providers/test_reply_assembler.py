"""The assembler alone: order and joining of deltas. `test_provider_quirks` covers the responses of providers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assistant.core.llm.protocol import ModelError, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.values.messages import Usage
from assistant.providers.openai_wire.chunks import Chunk
from assistant.providers.openai_wire.reply_assembler import Assembler
from assistant.providers.openai_wire.reply_parts import SplitCharacterJoiner, usage_of


def delta(**piece: Any) -> Chunk:
    return msgspec.convert({"choices": [{"delta": piece}]}, Chunk)


def call(index: int, arguments: str = "", *, name: str = "", call_id: str = "") -> Chunk:
    piece = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return delta(tool_calls=[piece])


def fed(*chunks: Chunk) -> Assembler:
    assembler = Assembler(names={"get_time", "get_weather"})
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler


def test_deltas_of_one_kind_are_joined_and_keep_their_order() -> None:
    assembler = fed(delta(reasoning="H"), delta(reasoning="m"), delta(content="a"), delta(content="b"))
    assert assembler.take() == [ReasoningDelta("Hm"), TextDelta("ab")]
    assert assembler.take() == []


def test_deltas_that_were_not_taken_are_in_the_reply_and_the_last_deltas() -> None:
    assembler = fed(delta(content="a"))
    assert assembler.finish(is_closed=True).text == "a"
    assert assembler.take() == [TextDelta("a")]


def test_a_call_opens_with_its_id_and_whole_name_when_its_arguments_begin() -> None:
    assembler = fed(call(0, name="get_", call_id="a"), call(0, name="time"))
    assert assembler.take() == []
    assembler.feed(call(0, '{"zone"'))
    assert assembler.take() == [ToolCallDelta(0, "a", "get_time", '{"zone"')]
    assembler.feed(call(0, ": 1}"))
    assert assembler.take() == [ToolCallDelta(0, arguments=": 1}")]


def test_calls_open_in_the_order_of_the_reply() -> None:
    assembler = fed(
        call(0, name="get_time", call_id="a"),
        call(1, name="get_weather", call_id="b"),
        call(1, '{"a": 1}'),
        call(0, '{"b": 2}'),
    )
    assert [
        (item.index, item.name, item.arguments) for item in assembler.take() if isinstance(item, ToolCallDelta)
    ] == [
        (0, "get_time", ""),
        (1, "get_weather", '{"a": 1}'),
        (0, "", '{"b": 2}'),
    ]


def test_a_call_without_arguments_opens_at_the_end() -> None:
    assembler = fed(call(0, name="get_time", call_id="a"))
    assembler.finish(is_closed=True)
    assert assembler.take() == [ToolCallDelta(0, "a", "get_time", "{}")]


def test_text_beside_a_call_is_kept() -> None:
    reply = fed(delta(content="Let me see."), call(0, "{}", name="get_time", call_id="a")).finish(is_closed=True)
    assert (reply.text, len(reply.tool_calls), reply.finish_reason) == ("Let me see.", 1, "tool_calls")


def test_ids_of_earlier_calls_are_not_used_again() -> None:
    assembler = Assembler(taken={"call_0"})
    assembler.feed(call(0, "{}", name="get_time", call_id="call_0"))
    assert assembler.finish(is_closed=True).tool_calls[0].id not in ("", "call_0")


def test_the_last_token_counts_are_used() -> None:
    counts = [msgspec.convert({"choices": [], "usage": {"completion_tokens": number}}, Chunk) for number in (1, 2)]
    reply = fed(delta(content="a"), *counts).finish(is_closed=True)
    assert reply.usage == Usage(output_tokens=2)


def test_the_log_has_details_that_the_user_does_not_get() -> None:
    assembler = fed(delta(content="a"), msgspec.convert({"choices": [{"finish_reason": "odd"}]}, Chunk))
    with pytest.raises(ModelError) as caught:
        assembler.finish(is_closed=True)
    assert "odd" in caught.value.__notes__[0]
    assert "odd" not in str(caught.value)


def test_a_joiner_returns_text_as_soon_as_its_characters_are_complete() -> None:
    joiner = SplitCharacterJoiner()
    assert [joiner.add(piece) for piece in ("a\ud83d", "\udc80b", "\udce2", "\udc82\udcac", "c")] == [
        "a", "💀b", "", "€", "c",
    ]  # fmt: skip
    assert joiner.finish() == ""


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 16}, Usage(9, 7)),  # xAI, Gemini: with reasoning
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}, Usage(9, 2, 4)),  # DeepSeek
        ({"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 4}, Usage(9, 2, 4)),  # Kimi
        ({"prompt_tokens": 9, "cache_creation_input_tokens": 5}, Usage(9, cache_write_tokens=5)),  # LiteLLM
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cache_write_tokens": 5}}, Usage(9, cache_write_tokens=5)),
        ({"total_tokens": 16}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": "2", "prompt_tokens_details": [4]}, Usage()),
    ],
)
def test_token_counts_are_read_in_the_forms_of_servers(wire: Any, expected: Usage) -> None:
    assert usage_of(wire) == expected
