"""A history may have as many messages as OpenAI takes: a conversation ends here no earlier than there."""

from __future__ import annotations

import pytest

from assistant.contrib.openai_api.services.completion import parse_completion
from assistant.contrib.openai_api.services.request_fields import InvalidRequest
from assistant.contrib.openai_api.services.responses.input_items import parse_items

OF_OPENAI = 2_048
TURN = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]


def test_a_completion_takes_as_many_messages_as_openais() -> None:
    messages = [*TURN * (OF_OPENAI // 2 - 1), {"role": "system", "content": "Be brief."}, TURN[0]]
    assert parse_completion({"model": "support", "messages": messages}).model == "support"
    with pytest.raises(InvalidRequest, match=f"must be a list of 1 to {OF_OPENAI} messages"):
        parse_completion({"model": "support", "messages": [*messages, TURN[0]]})


def test_a_response_takes_as_many_items() -> None:
    items = TURN * (OF_OPENAI // 2)
    assert len(parse_items(items)) == OF_OPENAI
    with pytest.raises(InvalidRequest, match=f"a list of 1 to {OF_OPENAI} items"):
        parse_items([*items, TURN[0]])
