from __future__ import annotations

import pytest

from assistant.core.toolcalls.admission import CallLimiter
from assistant.core.values.limits import Limits
from assistant.core.values.messages import ToolCall


@pytest.mark.parametrize(
    ("arguments", "is_refused"),
    [
        (['{"a":1,"b":[2]}', '{"b":[2.0],"a":1}', '{ "a":1.0,"b":[2e0]}'], True),
        (['{"a":1}', '{"a":true}', '{"a":"1"}'], False),
        (['{"a":1}', '{"a":1.5}', '{"a":10000000000000001.0}'], False),
    ],
)
def test_equal_numbers_make_identical_calls_however_they_are_written(arguments: list[str], is_refused: bool) -> None:
    limiter = CallLimiter(Limits())
    refusals = [limiter.admit(ToolCall("", "add", text), None) for text in arguments]
    assert refusals[:2] == [None, None]
    assert bool(refusals[2]) is is_refused
