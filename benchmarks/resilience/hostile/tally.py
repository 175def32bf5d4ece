"""The results of tries with hostile text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Codes of unexpected errors.
FAILURES = frozenset({"internal_error", "unavailable"})


@dataclass(slots=True)
class Tally:
    """The results of the tries on one database."""

    tries: int = 0
    failed: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)
    stored: set[tuple[Any, ...]] = field(default_factory=set)
