"""Pages of OpenAI's lists, and the parameters of their query strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from assistant.contrib.openai_api.services.request_fields import InvalidRequest

MAX_PAGE, DEFAULT_PAGE = 100, 20


def page_of(items: list[dict[str, Any]], query: Mapping[str, str], *, most: int = MAX_PAGE) -> dict[str, Any]:
    """Return a page of objects, given oldest first, as OpenAI's lists have it. Raises `InvalidRequest`.

    `most`: the largest limit, which is the default too if it is not that of most lists.
    """
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise InvalidRequest("order", "must be asc or desc.")
    default = DEFAULT_PAGE if most == MAX_PAGE else most
    limit = number_in(query, "limit", least=1, most=most) if "limit" in query else default
    ordered = items if order == "asc" else items[::-1]
    if "after" in query:
        ids = [item["id"] for item in ordered]
        if query["after"] not in ids:
            raise InvalidRequest("after", "names no object of this list.")
        ordered = ordered[ids.index(query["after"]) + 1 :]
    shown = ordered[:limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(ordered) > limit,
    }


def query_of(request: HttpRequest, known: set[str]) -> dict[str, str]:
    """Return the parameters of a query string. Raises `InvalidRequest` for one that is not known."""
    for name in request.GET:
        if name not in known:
            raise InvalidRequest(name[:100], "there is no such parameter.", error_code="unknown_parameter")
    return {name: str(value) for name, value in request.GET.items()}


def number_in(query: Mapping[str, str], name: str, *, least: int, most: int) -> int:
    """Return a parameter that is a whole number within bounds. Raises `InvalidRequest`."""
    given = query[name]
    if given.isascii() and given.isdigit() and len(given) <= 10 and least <= int(given) <= most:
        return int(given)
    raise InvalidRequest(name, f"must be a number from {least} to {most}.")
