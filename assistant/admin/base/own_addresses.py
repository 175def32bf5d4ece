"""Addresses of pages of the admin site that a request is for: its own, or the control panel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django import urls

_site: ContextVar[str] = ContextVar("assistant.admin_site", default="")


@contextmanager
def shown_at(name: str) -> Iterator[None]:
    """Have `reverse` give addresses of the admin site with this name, within a block."""
    token = _site.set(name)
    try:
        yield
    finally:
        _site.reset(token)


def reverse(
    viewname: str,
    *,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    current_app: str | None = None,
) -> str:
    """Return an address as Django's `reverse` does, of the same site as the page that is shown.

    Raises:
        NoReverseMatch: the site has no such page.
    """
    kept = None if kwargs is None else dict(kwargs)
    return urls.reverse(viewname, args=args, kwargs=kept, current_app=current_app or _site.get() or None)
