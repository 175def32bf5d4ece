"""What optional apps add to the message box of the chat and of the widget: scripts, fetched when they are of use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.templatetags.static import static

from assistant.services.addresses import api_url
from assistant.toolkit.calls.gate import refuse_async

_parts: dict[str, tuple[str, str, dict[str, str], Callable[[], bool]]] = {}


def add_to_composer(
    name: str, *, script: str, url_name: str, is_on: Callable[[], bool], mark: str = "", key: str = "", query: str = ""
) -> None:
    """Add a part to the message box. One of `mark`, `key` and `query` says when it is of use.

    Args:
        script: the static file of a module. Its default export is a class: `new Part({ box, form, url, headers, query,
            announce, changed }, signal)`, with `element`, which stands before the box, `typed()`, called when the text
            changes, and `forwarded(text)`, which returns what is added to the `forwardedProps` of a message.
        url_name: of the address of the REST API that it asks, which has the tenant and the assistant.
        is_on: whether it is there in this deployment.
        mark: a CSS selector; the part is loaded if the page has such an element.
        key: a character; it is loaded when one is typed.
        query: a parameter of the chat's address; it is loaded if the address has it.

    Raises:
        TypeError: `is_on` is async.
    """
    refuse_async(is_on, f"is_on of {name}")
    _parts[name] = (script, url_name, {"mark": mark, "key": key, "query": query}, is_on)


def composer_parts(*, tenant_slug: str, assistant_slug: str) -> list[dict[str, Any]]:
    """Return the parts that are on, for the scripts of a page: `script`, `url`, `mark`, `key` and `query` of each."""
    return [
        {"script": static(script), "url": api_url(url_name, tenant=tenant_slug, assistant=assistant_slug), **when}
        for script, url_name, when, is_on in _parts.values()
        if is_on() is True
    ]
