"""Renders the documents of `docs/` as HTML. A document is rendered again only when its file changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.urls import reverse
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from assistant.markdown.highlight import highlight

# The installed package contains the documents; in a checkout they are beside it.
_PACKAGE = Path(__file__).resolve().parents[2]
ROOT = _PACKAGE if (_PACKAGE / "docs").is_dir() else _PACKAGE.parent
FOLDER = ROOT / "docs"
IMAGES = FOLDER / "images"
DECISIONS = FOLDER / "decisions"
# The documents outside the folder, by their slugs.
OUTSIDE = {"readme": "README.md", "agents": "AGENTS.md"}
INDEX = "index"
_LINK = re.compile(r"\[[^\]]*\]\(((?:\.\./)?[\w-]+\.md)\)")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a document and its anchor."""

    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Passage:
    """The plain text below a heading of a document, with its code and tables."""

    title: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A rendered document. Its `html` is trusted, because it is shipped with the code."""

    slug: str
    title: str
    html: str
    sections: tuple[Section, ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A group of documents in the table of contents."""

    title: str
    documents: tuple[Document, ...]


def find_document(slug: str) -> Document | None:
    """Return the current document of that slug, or None if there is none."""
    if not re.fullmatch(r"[a-z0-9-]+", slug):
        return None
    places = [folder / f"{slug}.md" for folder in (FOLDER, DECISIONS)]
    if slug in OUTSIDE:
        places = [ROOT / OUTSIDE[slug]]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return None
    return _rendered(slug, path, path.stat().st_mtime_ns)


def contents() -> list[Group]:
    """Return all documents, in the groups and the order of docs/index.md."""
    rows = re.findall(r"^\| ([^|]*[^|\s]) \|(.*)\|$", (FOLDER / f"{INDEX}.md").read_text(), re.MULTILINE)
    found = []
    for title, cell in rows:
        documents = (find_document(_slug(target)) for target in _LINK.findall(cell))
        found.append(Group(title, tuple(document for document in documents if document)))
    return [group for group in found if group.documents]


def find_image(name: str) -> Path | None:
    """Return the file of an image, or None if there is none."""
    path = IMAGES / name
    return path if re.fullmatch(r"[\w-]+\.png", name) and path.is_file() else None


@lru_cache(maxsize=64)
def _rendered(slug: str, path: Path, _changed_at: int) -> Document:
    env: dict[str, Any] = {"sections": []}
    tokens = _MARKDOWN.parse(path.read_text(), env)
    html = str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, env))
    title, *sections = env["sections"] or [Section(slug, slug)]
    return Document(slug, title.title, html, tuple(sections), tuple(_passages(tokens)))


def _passages(tokens: Sequence[Token]) -> Iterator[Passage]:
    """Yield the text between headings of any level."""
    title = anchor = ""
    texts: list[str] = []
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            yield Passage(title, anchor, " ".join(texts))
            title, anchor, texts = _plain(tokens[number + 1]), str(token.attrs["id"]), []
        elif token.type in {"inline", "fence", "code_block"}:
            texts.append(_plain(token))
    yield Passage(title, anchor, " ".join(texts))


def _plain(token: Token) -> str:
    if token.children is None:
        return " ".join(token.content.split())
    return "".join(child.content or " " * child.type.endswith("break") for child in token.children)


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _slug(target: str) -> str:
    return Path(target).stem.lower()


def _prepare(state: StateCore) -> None:
    """Give headings anchors, and make links and images point to the site's pages."""
    for number, token in enumerate(state.tokens):
        if token.type == "heading_open":
            inline = state.tokens[number + 1]
            text = _plain(inline)
            token.attrs["id"] = anchor_of(text)
            if token.tag in {"h1", "h2"}:
                state.env["sections"].append(Section(text, str(token.attrs["id"])))
        for child in token.children or ():
            for name in {"href", "src"} & child.attrs.keys():
                address = _address(str(child.attrs.pop(name)))
                # A link to a file without a page, such as the licence, becomes plain text.
                child.attrs |= {name: address} if address else {}


def _name_columns(state: StateCore) -> None:
    """Give cells their column's name if there are three or more columns: small screens show cells below each other."""
    columns: list[str] = []
    cell = 0
    for number, token in enumerate(state.tokens):
        if token.type == "table_open":
            columns = []
        elif token.type == "th_open":
            columns.append(_plain(state.tokens[number + 1]))
        elif token.type == "tr_open":
            cell = 0
        elif token.type == "td_open":
            if cell and len(columns) > 2 and columns[cell]:
                token.attrs["data-column"] = columns[cell]
            cell += 1


def _address(target: str) -> str:
    """Return the URL of the page that a link in a document points to, empty if there is none."""
    parts = urlsplit(target)
    anchor = f"#{parts.fragment}" if parts.fragment else ""
    if parts.scheme or not parts.path:
        return target
    if re.fullmatch(r"(\.\./)?(decisions/)?[\w-]+\.md|(\.\./)*(README|AGENTS|docs/[\w-]+)\.md", parts.path):
        slug = _slug(parts.path)
        return (_contents_page() if slug == INDEX else reverse("assistant:docs-page", args=[slug])) + anchor
    if parts.path.endswith(".png"):
        return reverse("assistant:docs-image", args=[Path(parts.path).name])
    return _contents_page() if parts.path == "docs/" else ""


def _contents_page() -> str:
    return reverse("assistant:docs")


def _code(content: str, language: str, _attributes: str) -> str:
    return highlight(content, language)


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _code}).enable("table")
    parser.core.ruler.push("prepare", _prepare)
    parser.core.ruler.push("name_columns", _name_columns)
    return parser


_MARKDOWN = _make_parser()
