"""What tries brought."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Codes of what nobody expected.
FAILURES = frozenset({"internal_error", "unavailable"})


@dataclass(slots=True)
class Tally:
    """What one database's tries brought."""

    tries: int = 0
    failed: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)
    stored: set[tuple[Any, ...]] = field(default_factory=set)
