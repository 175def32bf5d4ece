"""The frames of events: what is added to each, and what a frame keeps when it is read and written again."""

from __future__ import annotations

import json

import pytest

from assistant.core.values.events import CalledTool, CallMetadata, Event, ToolCallStart
from assistant.services.eventlog.frames import FrameEncoder, decode_event

TITLED = ToolCallStart("c1", "get_customer", "m1", metadata=CallMetadata(CalledTool("Look up a customer")))


@pytest.mark.parametrize(
    ("event", "tool"),
    [(TITLED, {"title": "Look up a customer"}), (ToolCallStart("c1", "clock"), None)],
)
def test_the_start_of_a_call_keeps_the_title_beside_its_number(event: Event, tool: dict[str, str] | None) -> None:
    frame = FrameEncoder(run_id="r", thread="t").frame(event, 7)
    again = FrameEncoder(run_id="r2", thread="t2").frame(decode_event(frame), 8)
    assert frame.count('"run"') == again.count('"run"') == 1
    for text, run in ((frame, {"id": "r", "thread": "t", "seq": 7}), (again, {"id": "r2", "thread": "t2", "seq": 8})):
        metadata = json.loads(text)["metadata"]
        assert metadata == ({"tool": tool, "run": run} if tool else {"run": run})
