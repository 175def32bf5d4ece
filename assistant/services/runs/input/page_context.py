"""Reads what a client says about its page: AG-UI's `context` and `state`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ag_ui.core import Context

from assistant.services.errors import Refused
from assistant.toolkit.text import clean_text

# Each of both, in characters: the model reads them with every request of the run.
MAX_CONTEXT = MAX_STATE = 32_000


def parse_context(entries: Iterable[Context] | None) -> str:
    """Return AG-UI's `context` as the model reads it; "" without one. Raises `Refused` if it is too long."""
    parts = [f"{entry.description}:\n{entry.value}" for entry in entries or () if entry.value.strip()]
    text = clean_text("\n\n".join(parts))
    if len(text) > MAX_CONTEXT:
        raise Refused("invalid_input", f"context holds at most {MAX_CONTEXT} characters.")
    return text


def parse_state(state: Any) -> Any:
    """Return AG-UI's `state`, an empty object without one. Raises `Refused` if it is too long."""
    if state is None:
        return {}
    if len(json.dumps(state, ensure_ascii=False)) > MAX_STATE:
        raise Refused("invalid_input", f"state holds at most {MAX_STATE} characters of JSON.")
    return state


@dataclass(frozen=True, slots=True)
class Page:
    """What a client says of its page.

    Attributes:
        context: for the model.
        state: what client and tools share: any JSON value.
    """

    context: str = ""
    state: Any = None

    @property
    def text(self) -> str:
        """What the model reads of it; "" if there is nothing."""
        parts = [self.context] if self.context else []
        if self.state:
            parts.append(f"The state of the page, as JSON:\n{clean_text(json.dumps(self.state, ensure_ascii=False))}")
        return "\n\n".join(parts)
