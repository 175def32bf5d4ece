"""Splits lists into pages, ordered by name. A cursor is the last name of a page."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams

PAGE_SIZE = 100

T = TypeVar("T")


def page(
    items: Iterable[T], params: PaginatedRequestParams | None, name_of: Callable[[T], str]
) -> tuple[list[T], str | None]:
    """Return one page and the cursor of the next one.

    If the list changes in between, no item is skipped or repeated.

    Raises:
        MCPError: the cursor is not one of ours.
    """
    after = _read(params.cursor) if params is not None and params.cursor is not None else None
    ordered = sorted(items, key=name_of)
    rest = ordered if after is None else [item for item in ordered if name_of(item) > after]
    shown = rest[:PAGE_SIZE]
    return shown, _cursor(name_of(shown[-1])) if len(rest) > PAGE_SIZE else None


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _read(cursor: str) -> str:
    try:
        name = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise MCPError(INVALID_PARAMS, "This cursor was not given by this server.") from None
    return name
