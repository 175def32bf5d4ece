"""What optional apps add to the message box of the chat and of the widget: scripts, fetched when they are of use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.templatetags.static import static

from assistant.services.addresses import api_url


@dataclass(frozen=True, slots=True)
class ComposerPart:
    """A part of the message box, as `add_to_composer` describes it."""

    script: str
    url_name: str
    mark: str
    key: str
    query: str


added: list[ComposerPart] = []


def add_to_composer(*, script: str, url_name: str, mark: str = "", key: str = "", query: str = "") -> None:
    """Add a part to the message box. One of `mark`, `key` and `query` says when it is of use.

    Args:
        script: the static file of a module. Its default export is a class: `new Part({ box, form, url, headers, query,
            announce }, signal)`, with `element`, which stands before the box, `typed()`, called when it has been
            loaded, and `forwarded(text)`, which returns what is added to the `forwardedProps` of a message.
        url_name: of the address of the REST API that it asks, which has the tenant and the assistant.
        mark: a CSS selector; the part is loaded if the page has such an element.
        key: a character; it is loaded when one is typed.
        query: a parameter of the chat's address; it is loaded if the address has it.
    """
    added.append(ComposerPart(script, url_name, mark, key, query))


def composer_parts(*, tenant_slug: str, assistant_slug: str) -> list[dict[str, Any]]:
    """Return the parts for the scripts of a page: `script`, `url`, `mark`, `key` and `query` of each."""
    return [
        {
            "script": static(part.script),
            "url": api_url(part.url_name, tenant=tenant_slug, assistant=assistant_slug),
            "mark": part.mark,
            "key": part.key,
            "query": part.query,
        }
        for part in added
    ]
