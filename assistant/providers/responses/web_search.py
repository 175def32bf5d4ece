"""Searches of the web that the provider makes itself, within an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from assistant.core.llm.protocol import ProviderCall
from assistant.providers.web_search import provider_web_search
from assistant.toolkit.text import clean_text

WEB_SEARCH = provider_web_search.name
# Calls of the provider's own tools in one answer: each costs.
MAX_SEARCHES = 10
# Pages that a search is shown with, and characters of an address or a query.
MAX_PAGES = 20
MAX_CHARACTERS = 500
REQUESTED = {"type": "web_search"}
# The type of the items of searches.
SEARCH = "web_search_call"
# What the server must be asked for.
INCLUDE = "web_search_call.action.sources"


def search_of(raw: Mapping[str, Any]) -> ProviderCall:
    """Return a search that has ended as a call, whose result lists the pages it found."""
    action = raw.get("action")
    action = action if isinstance(action, dict) else {}
    pages = list(_pages(action))
    results = [{"source_id": page, "source": _title(page), "text": page} for page in pages]
    return ProviderCall(
        id=str(raw.get("id") or ""),
        name=WEB_SEARCH,
        arguments=json.dumps(_arguments(action), ensure_ascii=False),
        result=json.dumps({"results": results}, ensure_ascii=False),
        sources=tuple(dict.fromkeys(_host(page) for page in pages)) or ("the web",),
        is_failed=raw.get("status") == "failed",
    )


def returned(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a search as it goes back to the provider, without the list of pages."""
    action = raw.get("action")
    kept = {name: value for name, value in action.items() if name != "sources"} if isinstance(action, dict) else {}
    fields = {"type": SEARCH, "id": raw.get("id"), "status": raw.get("status") or "completed"}
    return {**fields, "action": kept}


def _arguments(action: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    queries = action.get("queries") if isinstance(action.get("queries"), list) else [action.get("query")]
    asked = [_short(query) for query in queries or () if isinstance(query, str) and query][:MAX_PAGES]
    if asked:
        found["query"] = "; ".join(asked)[:MAX_CHARACTERS]
    if isinstance(url := action.get("url"), str):
        found["page"] = _short(url)
    if isinstance(pattern := action.get("pattern"), str):
        found["find"] = _short(pattern)
    return found


def _pages(action: Mapping[str, Any]) -> Iterator[str]:
    sources = action.get("sources")
    urls = [one.get("url") for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []
    known = dict.fromkeys(url for url in [*urls, action.get("url")] if isinstance(url, str) and url)
    for url in list(known)[:MAX_PAGES]:
        yield _short(url)


def _short(text: str) -> str:
    return clean_text(text)[:MAX_CHARACTERS]


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "the web").removeprefix("www.")
    except ValueError:
        return "the web"


def _title(url: str) -> str:
    try:
        return (_host(url) + urlsplit(url).path.rstrip("/"))[:100]
    except ValueError:
        return url[:100]
