"""The corpus as a model says it: in pieces that end wherever half of something means something else."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from playwright.async_api import Page

from tests.fake_provider import FakeProvider
from tests.vectors import CORPUS


def pieces(text: str) -> list[str]:
    """The text cut wherever half of it means something else."""
    return [part for part in re.split(r"(?<=[<>:\[\](){}&;\"'`!/=\n])", text) if part]


async def stream_all(page: Page, fake_provider: FakeProvider, say: Callable[[Page, str], Awaitable[None]]) -> int:
    """Let the model say the whole corpus, a dozen vectors at a time, and call a tool by a hostile name before."""
    # What opens a fence swallows what follows.
    alone = [[vector] for vector in CORPUS if vector.family == "fences"]
    others = [vector for vector in CORPUS if vector.family != "fences"]
    groups = [*(others[start : start + 24] for start in range(0, len(others), 24)), *alone]
    for group in groups:
        name = re.sub(r"\s", "", group[0].text)[:60]
        text = "\n\n".join(vector.text for vector in group)
        fake_provider.call(name, {group[0].text: group[-1].text}, reasoning=text)
        fake_provider.reply(chunks=pieces(text))
        await say(page, group[0].text)
    return len(groups)
