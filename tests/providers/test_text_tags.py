"""Reasoning that models write into their text, between tags."""

from __future__ import annotations

import pytest

from assistant.core.values.messages import Reply
from assistant.providers.openai_wire.text_tags import MAX_HELD, MAX_TAGS, TextTags
from tests.fake_provider import FakeProvider
from tests.providers.asking import ask, content_of

CASES = {
    "<think>Hm.</think>\n\nHello": ("Hello", "Hm."),
    "\n<think>Hm.</think>Hello": ("\nHello", "Hm."),
    "First.<think>Hm.</think> Then.": ("First.Then.", "Hm."),
    "<think>One</think>a<think>Two</think>b": ("ab", "OneTwo"),
    "<think>2 < 3 and </thin or <b></think>Yes": ("Yes", "2 < 3 and </thin or <b>"),
    "<think></think>Yes": ("Yes", ""),
    "Use `<think>` and `</think>`.": ("Use `<think>` and `</think>`.", ""),
    "```\n<think>x</think>\n```\nDone": ("```\n<think>x</think>\n```\nDone", ""),
    "The tag <think> begins it.": ("The tag <think> begins it.", ""),
    "a < b, <b>bold</b>, <thin": ("a < b, <b>bold</b>, <thin", ""),
    '<tool_call>{"name": "echo", "arguments": {}}</tool_call>': (
        '<tool_call>{"name": "echo", "arguments": {}}</tool_call>',
        "",
    ),
    f"x<think>{'y' * (MAX_HELD + 1)}</think>": (f"x<think>{'y' * (MAX_HELD + 1)}</think>", ""),
}


def split(pieces: list[str], *, begins_inside: bool = False) -> tuple[str, str]:
    text: list[str] = []
    reasoning: list[str] = []
    tags = TextTags(lambda: "".join(text), begins_inside=begins_inside)
    into = {"text": text, "reasoning": reasoning}
    for piece in pieces:
        for kind, found in tags.add(piece):
            into[kind].append(found)
    for kind, found in tags.finish():
        into[kind].append(found)
    return "".join(text), "".join(reasoning)


@pytest.mark.parametrize("given", CASES)
def test_reasoning_between_tags_is_found_wherever_the_pieces_are_cut(given: str) -> None:
    assert split([given]) == CASES[given]
    assert split(list(given)) == CASES[given]
    cuts = range(1, min(len(given), 80))
    assert {split([given[:cut], given[cut:]]) for cut in cuts} == {CASES[given]}


def test_an_answer_full_of_tags_is_read_in_bounded_time() -> None:
    given = "`<think>`" * 50_000
    assert split([given[start : start + 9_000] for start in range(0, len(given), 9_000)]) == (given, "")
    assert split(["`<think>` "] * (MAX_TAGS * 2))[0] == "`<think>` " * (MAX_TAGS * 2)


@pytest.mark.usefixtures("listener")
async def test_a_stream_with_thinking_tags_has_reasoning(fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=["<th", "ink>H", "m.</thi", "nk>", "\n\nHel", "lo"])
    deltas, reply = await ask(fake_provider)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning) == ("Hello", "Hm.")
    assert content_of(deltas)[:2] == ("Hello", "Hm.")


BEGUN = {
    "Hm.</think>\n\nHello": ("Hello", "Hm."),
    "<think>\nHm.</think>Hello": ("Hello", "Hm."),
    "\nHm. <b> </thi no</think>Hello <think>x</think>you": ("Hello you", "Hm. <b> </thi nox"),
    "</think>Hello": ("Hello", ""),
    "Hello, you": ("Hello, you", "Hello, you"),
    " <think>": ("", ""),
}


@pytest.mark.parametrize("given", BEGUN)
def test_reasoning_that_the_template_began_ends_at_its_tag(given: str) -> None:
    expected = BEGUN[given]
    assert split([given], begins_inside=True) == expected
    assert split(list(given), begins_inside=True) == expected


@pytest.mark.parametrize(
    ("model", "kind", "answer", "expected"),
    [
        ("Qwen/Qwen3-30B-A3B-Thinking-2507", "", "Hm.</think>\n\nHello", ("Hello", "Hm.")),
        ("qwq-32b", "vllm", "Hm.</think>\n\nHello", ("Hello", "Hm.")),
        ("deepseek-r1-distill-llama-70b", "llama.cpp", "Hm.</think>\n\nHello", ("Hello", "Hm.")),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "", "Hm.</think>Hello", ("Hm.</think>Hello", "")),
        ("gpt-4.1", "", "Hm.</think>Hello", ("Hm.</think>Hello", "")),
        ("qwq-32b", "", "Hello", ("Hello", "Hello")),  # the server has left the reasoning out
    ],
)
async def test_answers_begin_with_reasoning_where_the_profile_says_so(
    fake_provider: FakeProvider, model: str, kind: str, answer: str, expected: tuple[str, str]
) -> None:
    fake_provider.reply(answer)
    deltas, reply = await ask(fake_provider, name=model, kind=kind)
    assert isinstance(reply, Reply), reply
    assert (reply.text, reply.reasoning) == expected
    assert content_of(deltas)[:2] == expected


async def test_reasoning_that_the_server_separates_leaves_the_text_alone(fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello", reasoning="Hm.")
    _, reply = await ask(fake_provider, name="qwq-32b")
    assert isinstance(reply, Reply) and (reply.text, reply.reasoning) == ("Hello", "Hm.")


async def test_reasoning_without_an_end_is_no_answer_if_the_answer_was_cut(fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hm. I think", finish="length")
    _, reply = await ask(fake_provider, name="qwq-32b")
    assert isinstance(reply, Reply) and (reply.text, reply.reasoning) == ("", "Hm. I think")


async def test_reasoning_before_calls_is_no_text(fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hm. I look.", calls=[("get_time", {})])
    _, reply = await ask(fake_provider, name="qwq-32b")
    assert isinstance(reply, Reply) and (reply.text, reply.reasoning) == ("", "Hm. I look.")
