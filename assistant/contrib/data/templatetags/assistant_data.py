"""Template tags of a project's own pages: which row is on the screen, and a link that asks about one."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html

from assistant.contrib.data.services.shown_rows import ask_url, shown_row

register = template.Library()


@register.simple_tag(takes_context=True)
def assistant_page(context: Context, row: Any) -> str:
    """Tell the chat and the widget on this page which row it shows: a hidden element with a signed reference.

    Nothing is written for somebody who is not signed in, may not see the row, or of a model that is not exposed.
    """
    found = shown_row(_user(context), row)
    if found is None:
        return ""
    named = found.row
    return format_html(
        '<span hidden data-assistant-row="{}" data-label="{}" data-kind="{}"></span>',
        named.reference,
        named.label,
        named.kind,
    )


@register.simple_tag(takes_context=True)
def assistant_ask_url(context: Context, row: Any) -> str:
    """Return the address of a new conversation about a row; "" for somebody who may not see it."""
    return ask_url(_user(context), row)


def _user(context: Context) -> Any:
    request = getattr(context, "request", None) or context.get("request")
    return getattr(request, "user", None)
