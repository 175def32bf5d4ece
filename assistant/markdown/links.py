"""Links in model text: only safe addresses, each with its host shown."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

from markdown_it.token import Token

_URL = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]\ufffd]+", re.IGNORECASE)
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]{1,200})\]:[ \t]*\n?[ \t]*<?(\S{1,2000}?)>?(?:[ \t][^\n]*)?$", re.MULTILINE)
_TRAILING = ".,:;!?*_~'\""


def safe_href(href: str) -> str:
    """Return the address if its scheme is http, https or mailto, else an empty string."""
    lowered = href.lower()
    if lowered.startswith("mailto:"):
        return href
    return href if lowered.startswith(("http://", "https://")) and link_host(href) else ""


def link_host(href: str) -> str:
    """Return the host and port of an address, or its mail address."""
    if href.lower().startswith("mailto:"):
        return href[len("mailto:") :].partition("?")[0]
    try:
        parts = urlsplit(href)
        return f"{parts.hostname or ''}:{parts.port}" if parts.port else parts.hostname or ""
    except ValueError:
        return ""


def render_definitions(source: str) -> str:
    """Render a block that consists of link definitions (`[1]: https://…`), which Markdown does not show."""
    found = []
    for label, address in _DEFINITION.findall(source):
        href = html.escape(safe_href(address))
        shown = html.escape(address)
        link = f'<a href="{href}" title="{href}" target="_blank">{shown}</a>' if href else shown
        found.append(f"[{html.escape(label)}]: {link}")
    return f'<p dir="auto">{"<br>".join(found)}</p>'


def link_tokens(children: list[Token]) -> list[Token]:
    """Turn bare addresses into links and unsafe links into text, and add the host after each link."""
    found: list[Token] = []
    opened: list[Token] = []
    is_open = False
    for child in children:
        if child.type == "link_open":
            is_open, opened = True, []
            href = safe_href(str(child.attrs.get("href", "")))
            if href:
                child.attrs = _attributes(href)
                found.append(child)
                opened = [child]
        elif child.type == "link_close":
            if opened:
                found += [child, *_host_note(found, opened[0])]
            is_open = False
        elif child.type == "text" and not is_open:
            found += _linkify(child.content)
        else:
            found.append(child)
    return found


def _attributes(href: str) -> dict[str, str | int | float]:
    return {"href": href, "title": href, "target": "_blank"}


def _host_note(tokens: list[Token], opening: Token) -> list[Token]:
    """Return tokens that show the host of a link, unless its text already begins with the host."""
    host = link_host(str(opening.attrs["href"]))
    start = max(index for index, token in enumerate(tokens) if token is opening)
    text = "".join(token.content for token in tokens[start:] if token.type in {"text", "code_inline"}).strip()
    shown_address = re.sub(r"^(https?://|mailto:)", "", text, flags=re.IGNORECASE).lower()
    if shown_address == host or shown_address.startswith((f"{host}/", f"{host}?", f"{host}#")):
        return []
    return [
        Token("text", "", 0, content=" "),
        Token("span_open", "span", 1, attrs={"class": "host"}),
        Token("text", "", 0, content=f"({host})"),
        Token("span_close", "span", -1),
    ]


def _linkify(text: str) -> list[Token]:
    """Turn the bare web addresses in a text into links."""
    found: list[Token] = []
    position = 0
    for match in _URL.finditer(text):
        address = _without_trailing(match[0])
        if not safe_href(address):
            continue
        if match.start() > position:
            found.append(Token("text", "", 0, content=text[position : match.start()]))
        found += [
            Token("link_open", "a", 1, attrs=_attributes(address)),
            Token("text", "", 0, content=address),
            Token("link_close", "a", -1),
        ]
        position = match.start() + len(address)
    if position < len(text):
        found.append(Token("text", "", 0, content=text[position:]))
    return found


def _without_trailing(address: str) -> str:
    """Remove the punctuation of the surrounding sentence from the end of an address."""
    surplus = address.count(")") - address.count("(")
    end = len(address)
    while end and (address[end - 1] in _TRAILING or (address[end - 1] == ")" and surplus > 0)):
        surplus -= address[end - 1] == ")"
        end -= 1
    return address[:end]
