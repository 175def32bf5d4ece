"""Messages from other processes (`EventLog.publish_control`), by their first word."""

from __future__ import annotations

from collections.abc import Callable

Handler = Callable[[str], None]
_handlers: dict[str, Handler] = {}


def on_control_message(word: str) -> Callable[[Handler], Handler]:
    """Register the decorated function for messages that begin with this word. It gets the rest, on the event loop."""

    def register(handler: Handler) -> Handler:
        _handlers[word] = handler
        return handler

    return register


def handle_control_message(word: str, rest: str) -> bool:
    """Call the function that is registered for a word; return whether there is one."""
    handler = _handlers.get(word)
    if handler is not None:
        handler(rest)
    return handler is not None
