"""The state that a client's page and the tools of a run share, and its changes as JSON patches."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Lock
from typing import Any

from assistant.toolkit.errors import ToolError

MAX_STATE = 32_000
# One operation of RFC 6902.
Operation = dict[str, Any]


class SharedState:
    """The state of one run: what its client sent, and what its tools have made of it. Safe to use from threads."""

    def __init__(self, value: Any = None) -> None:
        self._text = json.dumps({} if value is None else value)
        self._is_told = False
        self._lock = Lock()

    def begin(self, value: Any) -> None:
        """Set the state that the client has sent, before any tool of the run has changed it."""
        self._text = json.dumps(value)

    @property
    def value(self) -> Any:
        """A copy of the state: any JSON value."""
        return json.loads(self._text)

    def change(self, value: Any, tell: Callable[[Any, list[Operation] | None], None]) -> None:
        """Replace the state.

        Args:
            value: any JSON value.
            tell: called with the new state, and with the operations that turn the state of the call before into it;
                None for the first change, and if a state is not an object. It is called once per change, in order.

        Raises:
            ToolError: it is no JSON value, or has more than `MAX_STATE` characters.
        """
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as exc:
            raise ToolError("The state of the page must be a JSON value.") from exc
        if len(text) > MAX_STATE:
            raise ToolError(f"The state of the page holds at most {MAX_STATE} characters of JSON.")
        with self._lock:
            before, self._text = self._text, text
            if text != before or not self._is_told:
                operations = _patch(json.loads(before), json.loads(text)) if self._is_told else None
                self._is_told = True
                tell(json.loads(text), operations)


def _patch(before: Any, after: Any) -> list[Operation] | None:
    """Return the operations on the members of an object; None unless both are objects."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    gone = [{"op": "remove", "path": _pointer(name)} for name in before if name not in after]
    put = [
        {"op": "replace" if name in before else "add", "path": _pointer(name), "value": value}
        for name, value in after.items()
        if name not in before or before[name] != value
    ]
    return [*gone, *put]


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")
