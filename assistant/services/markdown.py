"""Model text to safe HTML: one closed Markdown block at a time, so that a streamed answer is rendered as it grows."""

from __future__ import annotations

import html
import re
import time
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

from assistant.services.blocks import split_blocks
from assistant.services.links import definitions, link_host, link_tokens, safe_href

# Beyond these a block is shown as plain text: rendering must stay cheap whatever the model writes.
MAX_BLOCK = 16_000
MAX_CODE_BLOCK = 100_000
MAX_BRACKETS = 1_000
MAX_CELLS = 5_000
MAX_HIGHLIGHTED = 4_000
# Of the processor: a machine that is busy with other things takes no colours away.
HIGHLIGHT_SECONDS = 0.05
MAX_LANGUAGE = 30
CODE_CLASS_PREFIX = "hl-"

# Lexers that stay quick on most input; other languages are shown without colours.
LANGUAGES = frozenset(
    """bash c c++ console cpp css dart diff docker dockerfile elixir go golang graphql haskell html http ini
    java javascript js json jsx julia kotlin less lua make makefile markdown md mysql nginx objc perl php
    postgresql powershell properties protobuf ps1 py python r rb ruby rust scala scss sh shell sql swift toml ts
    tsx typescript xml yaml yml zsh""".split()  # noqa: SIM905 - a list literal of these would fill a screen
)

# Some lexers take the cube of this many characters for one step, during which no other thread runs.
_NO_CODE = re.compile(r"[\w\s*]{300}")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TASKS = {"[ ] ": "\N{BALLOT BOX} ", "[x] ": "\N{BALLOT BOX WITH CHECK} ", "[X] ": "\N{BALLOT BOX WITH CHECK} "}
_UNSHOWABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")

_CLEANER = nh3.Cleaner(
    tags={
        *(
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "div",
            "em",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "li",
            "ol",
            "p",
            "pre",
            "s",
        ),
        *("span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    },
    attributes={
        "a": {"href", "title", "target"},
        "ol": {"start"},
        "div": {"data-code", "tabindex"},
        "pre": {"tabindex"},
    },
    allowed_classes={
        "div": {"code", "code-head", "table"},
        "p": {"plain"},
        "span": {"code-lang", "host", *(CODE_CLASS_PREFIX + name for name in STANDARD_TYPES.values() if name)},
        "td": {"center", "right"},
        "th": {"center", "right"},
    },
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    strip_comments=True,
)


def clean(text: str) -> str:
    """Text without what no page should carry: control characters, lone surrogates, reversals of direction."""
    return _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def render_block(source: str) -> str:
    """Sanitised HTML of one Markdown block (or of a whole text); never raises on what a model may write.

    Raw HTML is shown as text. Images become links, and links (http, https, mailto only) show where they lead.
    """
    source = clean(source)
    if _is_dear(source):
        return _CLEANER.clean(f'<p class="plain">{html.escape(source)}</p>')
    env: dict[str, Any] = {}
    rendered = str(_MARKDOWN.render(source, env))
    if not rendered.strip() and env.get("references"):
        rendered = definitions(source)
    return _CLEANER.clean(rendered)


def _is_dear(source: str) -> bool:
    """Whether parsing would cost more than a page should wait for: only text made for it does."""
    if source.lstrip().startswith(("```", "~~~")):
        return len(source) > MAX_CODE_BLOCK
    columns = source.partition("\n")[0].count("|")
    return len(source) > MAX_BLOCK or source.count("[") > MAX_BRACKETS or columns * source.count("\n") > MAX_CELLS


def render_blocks(text: str) -> list[str]:
    """A whole text as the list of its rendered blocks, the same ones that a stream of it gives."""
    return [render_block(block) for block in split_blocks(text)]


def _refine(state: StateCore) -> None:
    """Turn the parser's tokens into the ones our pages show."""
    is_item_start = False
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"  # the page's own titles stand above the model's
        elif token.type in {"th_open", "td_open"}:
            _align(token)
        elif token.type == "inline" and token.children is not None:
            children = token.children
            if is_item_start and children and children[0].content[:4] in _TASKS:
                children[0].content = _TASKS[children[0].content[:4]] + children[0].content[4:]
            token.children = link_tokens(_with_breaks(children))
        if token.type != "paragraph_open":
            is_item_start = token.type == "list_item_open"


def _align(token: Token) -> None:
    # The parser says it by a style attribute, which the page's content security policy forbids.
    style = str(token.attrs.pop("style", ""))
    if style.endswith(("center", "right")):
        token.attrs["class"] = style.removeprefix("text-align:")


def _with_breaks(children: list[Token]) -> list[Token]:
    """`<br>`, the one HTML tag that tables need, becomes a line break."""
    if not any("<br" in child.content.lower() for child in children if child.type == "text"):
        return children
    found: list[Token] = []
    for child in children:
        if child.type != "text":
            found.append(child)
            continue
        for number, part in enumerate(_BREAK.split(child.content)):
            if number:
                found.append(Token("hardbreak", "br", 0))
            if part:
                found.append(Token("text", "", 0, content=part))
    return found


def _code(content: str, language: str) -> str:
    label = html.escape(language[:MAX_LANGUAGE] or "text")
    return (
        f'<div class="code" data-code><div class="code-head"><span class="code-lang">{label}</span></div>'
        f'<pre tabindex="0"><code>{_highlighted(content, language.lower())}</code></pre></div>\n'
    )


def _highlighted(content: str, language: str) -> str:
    if language not in LANGUAGES or len(content) > MAX_HIGHLIGHTED or _NO_CODE.search(content):
        return html.escape(content)
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    parts: list[str] = []
    deadline = time.thread_time() + HIGHLIGHT_SECONDS
    for kind, value in lexer.get_tokens(content):
        if time.thread_time() > deadline:  # text made to be slow gets no colours
            return html.escape(content)
        name, text = STANDARD_TYPES.get(kind, ""), html.escape(value)
        parts.append(f'<span class="{CODE_CLASS_PREFIX}{name}">{text}</span>' if name else text)
    return "".join(parts)


def _fence(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    words = tokens[index].info.split()
    return _code(tokens[index].content, words[0] if words else "")


def _indented(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    return _code(tokens[index].content, "")


def _image(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    """An image's text, as a link to where it lies: the page itself loads nothing that a model names."""
    token = tokens[index]
    text = html.escape(token.content or "image")
    href = safe_href(str(token.attrs.get("src", "")))
    if not href:
        return text
    address = html.escape(href)
    host = html.escape(link_host(href))
    return f'<a href="{address}" title="{address}" target="_blank">{text}</a> <span class="host">({host})</span>'


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.core.ruler.push("refine", _refine)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _indented)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


_MARKDOWN = _make_parser()
