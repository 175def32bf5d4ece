"""Renders model text as safe HTML, one Markdown block at a time, so that streamed answers can be rendered."""

from __future__ import annotations

import html
import re
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from assistant.markdown.block_splitter import is_details, split_blocks
from assistant.markdown.emphasis import CjkParserInline
from assistant.markdown.footnotes import add_footnotes
from assistant.markdown.formulas import add_formulas
from assistant.markdown.highlight import CODE_CLASSES, highlight
from assistant.markdown.links import link_host, link_tokens, render_definitions, safe_href

# Blocks beyond these limits are shown as plain text, or code without colours, to bound the time for hostile text.
MAX_BLOCK_CHARACTERS = 16_000
MAX_CODE_BLOCK_CHARACTERS = 100_000
MAX_BRACKETS = 1_000
MAX_CELLS = 5_000
MAX_LANGUAGE_CHARACTERS = 30

_TAG = re.compile(r"(<br\s*/?>|<kbd>[^<>\n]{1,30}</kbd>)", re.IGNORECASE)
_DETAILS = re.compile(
    r"\s*<details>\s*(?:<summary>(?P<summary>.*?)(?:</summary>|$))?(?P<inner>.*?)(?:</details>(?P<rest>.*))?$",
    re.IGNORECASE | re.DOTALL,
)
_TASKS = {"[ ] ": "\N{BALLOT BOX} ", "[x] ": "\N{BALLOT BOX WITH CHECK} ", "[X] ": "\N{BALLOT BOX WITH CHECK} "}
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")

_CLEANER = nh3.Cleaner(
    tags={
        *(
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "details",
            "div",
            "em",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "kbd",
            "li",
            "ol",
            "p",
            "pre",
            "s",
        ),
        *("span", "strong", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    },
    attributes={
        "a": {"href", "title", "target"},
        "ol": {"start"},
        "div": {"data-code", "tabindex"},
        "pre": {"tabindex"},
    },
    tag_attribute_values={
        **{tag: {"dir": {"auto"}} for tag in ("blockquote", "details", "h3", "h4", "h5", "h6", "ol", "p", "ul")},
        "code": {"dir": {"ltr"}},
        "div": {"dir": {"auto", "ltr"}},
    },
    allowed_classes={
        "div": {"code", "code-head", "table"},
        "li": {"task"},
        "p": {"footnote", "plain"},
        "span": {
            *("code-lang", "display", "formula", "host"),
            *CODE_CLASSES,
        },
        "td": {"center", "right"},
        "th": {"center", "right"},
    },
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    strip_comments=True,
)


def replace_unprintable(text: str) -> str:
    """Replace control characters, lone surrogates and bidirectional overrides by U+FFFD."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def render_block(source: str) -> str:
    """Return the sanitised HTML of one Markdown block or a whole text; any text is valid.

    Raw HTML is shown as text, but for line breaks, keys (`<kbd>`) and what is folded away (`<details>`).
    Images become links. Links are http, https or mailto, with their host shown.
    """
    source = replace_unprintable(source)
    if _is_too_expensive(source):
        return _CLEANER.clean(f'<p class="plain" dir="auto">{html.escape(source)}</p>')
    if is_details(source):
        return _CLEANER.clean(_details(source))
    env: dict[str, Any] = {}
    rendered = str(_MARKDOWN.render(source, env))
    if not rendered.strip() and env.get("references"):
        rendered = render_definitions(source)
    return _CLEANER.clean(rendered)


def parse(source: str) -> list[Token]:
    """Return the tokens of a Markdown block, which must be no longer than `MAX_BLOCK_CHARACTERS`."""
    return _MARKDOWN.parse(source)


def _details(source: str) -> str:
    found = _DETAILS.match(source)
    if found is None:
        return html.escape(source)
    summary = str(_MARKDOWN.renderInline((found["summary"] or "…").strip()))
    inner = str(_MARKDOWN.render(found["inner"]))
    rest = str(_MARKDOWN.render(found["rest"] or ""))
    return f'<details dir="auto"><summary>{summary}</summary>{inner}</details>{rest}'


def _is_too_expensive(source: str) -> bool:
    """Return whether parsing would take too long, which only hostile text does."""
    if source.lstrip().startswith(("```", "~~~")):
        return len(source) > MAX_CODE_BLOCK_CHARACTERS
    columns = source.partition("\n")[0].count("|")
    return (
        len(source) > MAX_BLOCK_CHARACTERS
        or source.count("[") > MAX_BRACKETS
        or columns * source.count("\n") > MAX_CELLS
    )


def render_blocks(text: str) -> list[str]:
    """Return the rendered blocks of a whole text, the same as those of a stream."""
    return [render_block(block) for block in split_blocks(text)]


def _adapt_tokens(state: StateCore) -> None:
    """Adapt the parser's tokens to our pages: headings, alignment, task lists, links and line breaks."""
    item: Token | None = None  # that begins
    for token in state.tokens:
        if token.level == 0 and token.nesting == 1:
            token.attrSet("dir", "auto")  # each block has the direction of its first letter outside of code
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"  # h1 and h2 are the page's own
        elif token.type in {"th_open", "td_open"}:
            _align(token)
        elif token.type == "inline" and token.children is not None:
            children = token.children
            if item is not None and children and children[0].content[:4] in _TASKS:
                children[0].content = _TASKS[children[0].content[:4]] + children[0].content[4:]
                item.attrSet("class", "task")
            token.children = link_tokens(_with_tags(children))
        if token.type != "paragraph_open":
            item = token if token.type == "list_item_open" else None


def _align(token: Token) -> None:
    # The parser uses a style attribute, which the page's content security policy forbids.
    style = str(token.attrs.pop("style", ""))
    if style.endswith(("center", "right")):
        token.attrs["class"] = style.removeprefix("text-align:")


def _with_tags(children: list[Token]) -> list[Token]:
    """Turn `<br>`, which models need in cells of tables, into a line break, and `<kbd>` into a key."""
    if not any("<" in child.content for child in children if child.type == "text"):
        return children
    found: list[Token] = []
    for child in children:
        if child.type != "text":
            found.append(child)
            continue
        for number, part in enumerate(_TAG.split(child.content)):
            if number % 2 and part[1] in "kK":
                key = Token("text", "", 0, content=part[len("<kbd>") : -len("</kbd>")])
                found += [Token("kbd_open", "kbd", 1), key, Token("kbd_close", "kbd", -1)]
            elif number % 2:
                found.append(Token("hardbreak", "br", 0))
            elif part:
                found.append(Token("text", "", 0, content=part))
    return found


def _code(content: str, language: str) -> str:
    label = html.escape(language[:MAX_LANGUAGE_CHARACTERS] or "text")
    return (
        f'<div class="code" data-code dir="ltr"><div class="code-head"><span class="code-lang">{label}</span></div>'
        f'<pre tabindex="0"><code>{highlight(content, language.lower())}</code></pre></div>\n'
    )


def _fence(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    words = tokens[index].info.split()
    return _code(tokens[index].content, words[0] if words else "")


def _indented(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    return _code(tokens[index].content, "")


def _code_inline(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    return f'<code dir="ltr">{html.escape(tokens[index].content)}</code>'


def _table(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    direction = ' dir="auto"' if tokens[index].level == 0 else ""
    return f'<div class="table" tabindex="0"{direction}><table>'


def _image(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    """Render an image as a link, because pages must not load addresses that a model wrote."""
    token = tokens[index]
    text = html.escape(token.content or "image")
    href = safe_href(str(token.attrs.get("src", "")))
    if not href:
        return text
    address = html.escape(href)
    host = html.escape(link_host(href))
    return f'<a href="{address}" title="{address}" target="_blank">{text}</a> <span class="host">({host})</span>'


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt()
    parser.inline = CjkParserInline()
    parser.configure("commonmark", {"html": False}).enable(["table", "strikethrough"])
    add_formulas(parser)
    add_footnotes(parser)
    parser.core.ruler.push("refine", _adapt_tokens)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _indented)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("code_inline", _code_inline)
    parser.add_render_rule("table_open", _table)
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


_MARKDOWN = _make_parser()
