"""Answers as models write them, and what a server sends while they are written."""

from __future__ import annotations

import html
import re
from itertools import takewhile
from pathlib import Path

from assistant.core.values.events import Custom, TextMessageContent, TextMessageEnd
from assistant.markdown.render import render_blocks
from assistant.markdown.stream import BlockRenderer

ANSWERS = Path(__file__).with_name("streamed.txt").read_text().split("\n\n<!-- next answer -->\n\n")
_TOKEN = re.compile(r"\s?\w{1,5}|\s*[^\w\s]{1,3}|\s+")


def visible(rendered: str) -> str:
    """The text of some HTML, without spaces and without formulas, which the page draws."""
    rendered = re.sub(r'<span class="formula[^>]*>[^<]*</span>', "", rendered)
    return re.sub(r"\s", "", html.unescape(re.sub(r"<[^>]+>", "", rendered)))


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


async def recorded(text: str) -> list[tuple[str, list[dict[str, object]]]]:
    """Return each token of an answer with the blocks that the server sends after it."""
    renderer = BlockRenderer()
    steps: list[tuple[str, list[dict[str, object]]]] = []
    for token in tokens(text):
        sent = await renderer.apply(TextMessageContent("m", token))
        steps.append((token, [event.value for event in sent if isinstance(event, Custom)]))
    last = await renderer.apply(TextMessageEnd("m"))
    return [*steps, ("", [event.value for event in last if isinstance(event, Custom)])]


def certain(text: str) -> list[int]:
    """Return for each token how many characters of the final visible text even a careless client shows by then."""
    final, so_far, found = visible("".join(render_blocks(text))), "", []
    for token in tokens(text):
        so_far += token
        shown = visible("".join(render_blocks(so_far)))
        found.append(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(final, shown, strict=False))))
    return [*found, len(final)]
