"""Notices of optional apps that the chat and the widget show: which there are, and the scripts that show them.

A page sends a frame whose type is the notice's name. From then on the server sends a CUSTOM event of that name: now,
and whenever what it lists changes.
"""

from __future__ import annotations

from collections.abc import Callable

from django.templatetags.static import static

from assistant.toolkit.calls.gate import refuse_async

_notices: dict[str, tuple[str, Callable[[], bool]]] = {}


def show_notice(name: str, *, script: str, is_on: Callable[[], bool]) -> None:
    """Have the chat and the widget show a notice.

    Args:
        script: the static file of a module, fetched with the first notice that lists something. Its default export is a
            class: `new Notice({ send, announce, focus, asks, isShown, open, current, sidebar }, signal)`, with
            `element`, `count`, `show(value)` and `look()`; `asks` and `sidebar` are of pages alone.
        is_on: whether it is shown in this deployment.

    Raises:
        TypeError: `is_on` is async.
    """
    refuse_async(is_on, f"is_on of {name}")
    _notices[name] = (script, is_on)


def notice_scripts() -> dict[str, str]:
    """Return the addresses of the scripts by the names of the notices that are on."""
    return {name: static(script) for name, (script, is_on) in _notices.items() if is_on() is True}
