"""What the tests of external servers' questions share: answers, and what the server that asks has received."""

from __future__ import annotations

from typing import Any

from tests.mcp.outside import Outside

SEAT = {"seat": "Aisle", "people": 2, "field_3": "Legs", "extras": ["dog"]}
# The same answer as the server receives it.
SENT = {"seat": "a", "people": 2, "reason": "Legs", "extras": ["dog"]}


def answers_in(asking: Outside) -> list[Any]:
    return [entry["answer"] for entry in asking.log() if "answer" in entry]


def calls_in(asking: Outside) -> int:
    return len([entry for entry in asking.log() if "name" in entry])
