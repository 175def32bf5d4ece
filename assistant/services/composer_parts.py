"""What optional apps add to the message box of the chat and of the widget: scripts, fetched when they are of use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.templatetags.static import static

from assistant.services.addresses import api_url
from assistant.services.tenancy.members import ForMember, Member


@dataclass(frozen=True, slots=True)
class ComposerPart:
    """A part of the message box, as `add_to_composer` describes it."""

    script: str
    url_name: str
    mark: str
    key: str
    query: str
    has_assistant: bool
    is_for: ForMember | None


added: list[ComposerPart] = []


def add_to_composer(
    *,
    script: str,
    url_name: str = "",
    mark: str = "",
    key: str = "",
    query: str = "",
    has_assistant: bool = True,
    is_for: ForMember | None = None,
) -> None:
    """Add a part to the message box. One of `mark`, `key` and `query` says when it is of use.

    Args:
        script: the static file of a module. Its default export is a class: `new Part({ box, form, url, headers, query,
            announce, thread }, signal)`, of which `thread()`, the conversation's id, is of pages alone. It has
            `element`, which stands before the box, `typed()`, called when it has been loaded, and `forwarded(text)`,
            which returns what is added to the `forwardedProps` of a message.
        url_name: of the address of the REST API that it asks, if it asks one; the address has the tenant, and the
            assistant unless `has_assistant` is false.
        mark: a CSS selector; the part is loaded if the page has such an element.
        key: a character; it is loaded when one is typed.
        query: a parameter of the chat's address; it is loaded if the address has it.
        is_for: whether it is for a caller; without it, for all.
    """
    added.append(ComposerPart(script, url_name, mark, key, query, has_assistant, is_for))


def composer_parts(*, member: Member, assistant_slug: str) -> list[dict[str, Any]]:
    """Return the parts that a caller gets, for scripts: `script`, `url`, `mark`, `key` and `query` of each."""
    return [
        {
            "script": static(part.script),
            "url": _address(part, member.tenant.slug, assistant_slug),
            "mark": part.mark,
            "key": part.key,
            "query": part.query,
        }
        for part in added
        if part.is_for is None or part.is_for(member=member)
    ]


def _address(part: ComposerPart, tenant: str, assistant: str) -> str:
    if not part.url_name:
        return ""
    if part.has_assistant:
        return api_url(part.url_name, tenant=tenant, assistant=assistant)
    return api_url(part.url_name, tenant=tenant)
