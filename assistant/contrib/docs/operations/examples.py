"""Values that several examples have."""

from __future__ import annotations

THREAD = "0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f"
MESSAGE = {
    "id": "msg-2",
    "run": "run-1",
    "role": "assistant",
    "content": "You have 30 days to return it.",
    "reasoning": "",
    "tool_calls": [],
    "tool_call_id": "",
    "is_partial": False,
    "is_superseded": False,
    "is_ai_generated": True,
    "cut_reason": "",
    "attachments": [],
    "versions": None,
    "created_at": "2026-11-21T09:30:04Z",
    "feedback": {"rating": 1, "comment": ""},
    "added": {},
}
