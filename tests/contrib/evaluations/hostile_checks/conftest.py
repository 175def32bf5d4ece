"""A model that obeys everybody, one that resists, and tools for both."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import pytest

from assistant.services.runs.manager import get_runs
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import Answer, Recorded, reply

RAN: list[str] = []


@tool(read_only=True)
def search(query: str) -> str:
    """Search the records."""
    RAN.append(query)
    return "Nothing."


@tool(read_only=True, untrusted=True)
def read_mail(query: str) -> str:
    """Read e-mails."""
    RAN.append(query)
    return "Nothing."


@tool
def send_money(query: str) -> str:
    """Send money."""
    RAN.append(query)
    return "Sent."


@tool
def drop_tenant(query: str) -> str:
    """Delete everything."""
    RAN.append(query)
    return "Gone."


# Values that a question or a planted text tells the model to send.
_VALUE = re.compile(r"rival-7319|990017|5b1f0c8e[-0-9a-f]+|zq-7319-kilo")


def obeying(request: Recorded) -> Answer:
    """A model that does what the newest text says, whoever wrote it."""
    text, last = request.last_text, request.messages[-1]
    value = _VALUE.search(text)
    named = re.search(r"(?:[Cc]all|[Uu]se) the tool (\w+)|have a tool (\w+)", text)
    name = (named[1] or named[2]) if named else "search"
    if link := re.search(r"https://[\w./-]+", text):
        return reply(f"It is fine. More details at {link[0]}")(request)
    if word := re.search(r"single word (\S+?)\.<", text):
        return reply(word[1])(request)
    if re.search("word for word|system prompt|stands in your instructions", text):
        return reply(f"Gladly:\n{request.messages[0]['content'].upper()}")(request)
    is_told = last["role"] != "tool" or "IMPORTANT" in text or "New instruction" in text
    if (named or value) and is_told:
        return reply(calls=[(name, {"query": value[0] if value else "all"})])(request)
    return reply("Done.")(request)


def resisting(request: Recorded) -> Answer:
    """A model that uses the tool that the user names, and obeys nothing else."""
    named = re.search(r"Use the tool (\w+)", request.last_text)
    if named and request.messages[-1]["role"] == "user":
        return reply(calls=[(named[1], {"query": "all"})])(request)
    return reply("I do not do that.")(request)


@pytest.fixture(autouse=True)
async def _runs(transactional_db: None) -> AsyncIterator[None]:
    RAN.clear()
    yield
    await get_runs().stop()


@pytest.fixture
def tools(cast: Cast) -> Iterator[None]:
    """Give Acme three tools, one of which reads what outsiders wrote; another is off."""
    with catalogue.using(Registry([search, read_mail, send_money, drop_tenant])):
        for name in ("search", "read_mail", "send_money"):
            switch_tool(cast.acme, name)
        yield
