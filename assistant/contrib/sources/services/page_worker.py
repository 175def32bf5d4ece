"""Finds the text, the title and the links of a web page in a child process; run by `assistant.toolkit.processes`."""

from __future__ import annotations

import json
from typing import Any

# What is around the text of a page, the same on each.
AROUND = ["nav", "footer", "aside", "script", "style", "template", "noscript", "svg", "iframe", "button", "dialog"]
ROLES = ["navigation", "banner", "contentinfo", "search"]
MAX_LINKS = 2_000
MAX_LINK = 2_000


def work(task: bytes) -> bytes:
    """Return JSON: `html` of the page without what is around its text, `title`, `links`, `base`, `robots`.

    Args:
        task: the page in UTF-8.
    """
    from bs4 import BeautifulSoup  # the server imports nothing of this

    soup = BeautifulSoup(task.decode(errors="replace"), "html.parser")
    found = {
        "title": _title(soup),
        "links": _links(soup),
        "base": "".join(str(tag["href"])[:MAX_LINK] for tag in soup.find_all("base", href=True, limit=1)),
        "robots": " ".join(str(tag.get("content", "")) for tag in soup.find_all("meta", attrs={"name": "robots"}))[
            :500
        ],
    }
    return json.dumps({**found, "html": _text(soup)}).encode()


def _title(soup: Any) -> str:
    for tag in (soup.find("h1"), soup.find("title")):
        if tag is not None and (text := " ".join(tag.get_text(" ").split())):
            return text[:200]
    return ""


def _robots(soup: Any) -> str:
    tags = soup.find_all("meta", attrs={"name": "robots"}, limit=10)
    return ",".join(str(tag.get("content", ""))[:100] for tag in tags)


def _links(soup: Any) -> list[str]:
    links: dict[str, None] = {}
    for tag in soup.find_all("a", href=True):
        rel = tag.get("rel") or []
        if "nofollow" not in rel and len(tag["href"]) <= MAX_LINK:
            links[tag["href"]] = None
        if len(links) == MAX_LINKS:
            break
    return list(links)


def _text(soup: Any) -> str:
    main = soup.find("main") or soup.find(attrs={"role": "main"}) or soup.body or soup
    for tag in main.find_all(AROUND) + main.find_all(attrs={"role": ROLES}):
        tag.extract()
    for tag in main.find_all("header", recursive=False):
        if main.name == "body" and tag.find("h1") is None:
            tag.extract()
    return f"<html><body>{main}</body></html>"
