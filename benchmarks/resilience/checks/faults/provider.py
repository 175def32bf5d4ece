"""Providers that cut answers, stop sending, send invalid data, or redirect."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import Client, connected, run_input, text_of
from benchmarks.resilience.sites import POSTGRES, SQLITE, Site
from tests.fake_answers import Answer, Cut, Recorded, Script, Silence, chunk, event, raw, reply, respond
from tests.fake_provider import FakeProvider

TITLE = "Misbehaving providers"
HOW = (
    "A real HTTP server answers as broken providers do; through a server process, over the websocket, on SQLite and "
    "on PostgreSQL. A broken answer must end in a typed error that clients see, with the text until then stored and "
    "marked as partial; an unusual but valid one must be stored completely."
)
UNTYPED, UNMARKED, AS_WHOLE, ODD, FOLLOWED = (
    "cases without a typed, visible ending",
    "partial answers that were not stored",
    "broken answers stored as complete",
    "unusual but valid answers that were refused or changed",
    "requests that followed a redirect",
)
CODES = {"provider_error", "provider_rate_limited", "provider_timeout"}
SAID = "Once upon a time "
NOW = {"retry-after-ms": "1"}
_CASE = re.compile(r"\[case (\d+)\]")


def mark_nothing_partial() -> None:
    """No stored message is marked as partial."""
    _store_otherwise(lambda messages: [replace(message, is_partial=False) for message in messages])


def drop_partial_messages() -> None:
    """Partial messages are not stored."""
    _store_otherwise(lambda messages: [message for message in messages if not message.is_partial])


def store_ascii() -> None:
    """Characters outside ASCII are not stored."""
    _store_otherwise(
        lambda messages: [replace(one, content=one.content.encode("ascii", "ignore").decode()) for one in messages]
    )


def _store_otherwise(change: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
    from assistant.services.runs import closing

    store = closing.store_messages  # type: ignore[attr-defined]

    def careless(*, messages: Sequence[Any], **rest: Any) -> None:
        store(messages=change(messages), **rest)

    closing.store_messages = careless  # type: ignore[attr-defined]


def report_internal_errors() -> None:
    """A provider's failure ends a run as an internal error."""
    from assistant.core.turn import loop

    class Unknown(Exception):
        pass

    loop.ModelError = Unknown  # type: ignore[assignment,attr-defined]


def follow_redirects() -> None:
    """Redirects are followed, with the prompt."""
    import openai

    request: Any = openai.AsyncOpenAI.request

    def trusting(self: Any, cast_to: Any, options: Any, **rest: Any) -> Any:
        return request(self, cast_to, options.model_copy(update={"follow_redirects": True}), **rest)

    openai.AsyncOpenAI.request = trusting  # type: ignore[method-assign]


FAULTS = (
    Fault("no stored message is marked as partial", AS_WHOLE, mark_nothing_partial),
    Fault("partial messages are not stored", UNMARKED, drop_partial_messages),
    Fault("characters outside ASCII are not stored", ODD, store_ascii),
    Fault("a provider's failure ends a run as an internal error", UNTYPED, report_internal_errors),
    Fault("redirects are followed", FOLLOWED, follow_redirects),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One behaviour of a provider.

    Args:
        name: what it does, for the report.
        answer: its response.
        said: the text that it sends before it fails.
        whole: the answer that must be stored; None if it is broken.
        is_slow: it takes the whole timeout of providers, a minute.
    """

    name: str
    answer: Answer | Script
    said: str = SAID
    whole: str | None = None
    is_slow: bool = False


def _say(text: object) -> bytes:
    return event(chunk({"content": text}))


def _bytes(content: bytes) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n' % content


START, STOP, DONE = _say(SAID), event(chunk(finish="stop")), event("[DONE]")
END = STOP + DONE
ERROR = {"error": {"message": "secret detail", "type": "server_error", "code": 503}}
LIMIT = {"error": {"message": "secret detail", "code": "rate_limit_exceeded"}}
HTML = "<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>"
CALL = chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "add", "arguments": '{"a": 1'}}]})


def cases(elsewhere: str) -> list[Case]:
    """Return all cases; redirects lead to `elsewhere`."""
    named = event(chunk({"content": SAID}, model="m" * 10_000))
    moved = {"Location": f"{elsewhere}/chat/completions"}
    return [
        Case("cut before the first byte", raw(Cut()), said=""),
        Case("cut in mid-answer", raw(START, Cut())),
        Case("ended in mid-answer, without an error", raw(START)),
        Case("ended in the middle of a line", raw(START + b'data: {"choices":[{"del')),
        Case("cut in mid-answer after an error", raw(START, event(ERROR), Cut())),
        Case("cut in the middle of a tool call", raw(START, event(CALL), Cut())),
        Case("an error in mid-answer", raw(START, event(ERROR), DONE)),
        Case("an error in mid-answer, without the prefix", raw(START, b'{"error": {"message": "x"}}\n\n')),
        Case("a rate limit in mid-answer", raw(START, event(LIMIT))),
        Case("silence from the beginning", raw(Silence()), said="", is_slow=True),
        Case("silence in mid-answer", raw(START, Silence()), is_slow=True),
        Case("429", respond(429, headers=NOW), said=""),
        Case("429 for a long time", respond(429, headers={"retry-after": "90"}), said=""),
        Case("500", respond(500, headers=NOW), said=""),
        Case("502 as HTML", respond(502, HTML, headers=NOW), said=""),
        Case("503", respond(503, headers=NOW), said=""),
        Case("HTML with status 200", respond(200, HTML), said=""),
        Case("HTML called a stream", raw(HTML.encode()), said=""),
        Case("HTML in mid-answer", raw(START, HTML.encode())),
        Case("bad JSON", raw(START, b"data: {nope}\n\n", END)),
        Case("JSON of another shape", raw(START, b'data: {"choices": "none"}\n\n', END)),
        Case("deeply nested JSON", raw(START, b"data: " + b"[" * 100_000 + b"\n\n", END)),
        Case("an endless line", raw(START, b"data: {", *[b" " * 65536] * 80, Silence())),
        Case("no finish reason, no [DONE]", raw(START, _say("and "), b"")),
        Case("an unknown finish reason", raw(START, event(chunk(finish="insufficient_system_resource")), DONE)),
        Case("finished by an error", raw(START, event(chunk(finish="error")), DONE)),
        Case("an empty answer", raw(END), said=""),
        Case("another content type, and no answer", raw(b"PK\x03\x04" * 100, content_type="application/zip"), said=""),
        *(Case(f"redirect {code}", respond(code, {}, headers=moved), said="") for code in (301, 302, 303, 307, 308)),
        Case("a slow first byte", raw(2.0, START, END), whole=SAID),
        Case("bad UTF-8", raw(START, _bytes(b"a\xffb"), END), whole=SAID + "a\ufffdb"),
        Case(
            "a surrogate pair cut in two",
            raw(START, _bytes(rb"\ud83d"), _bytes(rb"\udc80!"), END),
            whole=SAID + "💀!",
        ),
        Case("half a surrogate pair", raw(START, _bytes(rb"\ud83d"), END), whole=SAID + "\ufffd"),
        Case("a NUL", raw(START, _bytes(rb"a\u0000b"), END), whole=SAID + "a\ufffdb"),
        Case("a very long model name", raw(named, END), whole=SAID),
        Case("a stream called JSON", raw(START, END, content_type="application/json"), whole=SAID),
        Case("a stream without a content type", raw(START, END, content_type=None), whole=SAID),
        Case("cut after the end", raw(START, END, Cut()), whole=SAID),
        Case("silence after the end", raw(START, END, Silence()), whole=SAID),
    ]


@dataclass(frozen=True, slots=True)
class Seen:
    """A case, and the figures that it counts for."""

    case: str
    missed: frozenset[str]


def measure(testbed: Testbed) -> Sequence[Line]:
    seen: list[Seen] = []
    with FakeProvider() as elsewhere:
        tried = [case for case in cases(elsewhere.url) if not (testbed.fault and case.is_slow)]
        for kind in (SQLITE, POSTGRES):
            with FakeProvider() as provider, testbed.site(kind, provider.url) as site:
                provider.rule(lambda request: _answer(tried, request))
                seen += asyncio.run(_try_all(testbed, site, tried))
        followed = len(elsewhere.requests)
    lines = []
    for what in (UNTYPED, UNMARKED, AS_WHOLE, ODD):
        names = sorted({one.case for one in seen if what in one.missed})
        lines.append(Line(what, sum(what in one.missed for one in seen), "", 0, beside="; ".join(names)))
    lines[0] = Line(UNTYPED, lines[0].value, "", 0, beside=lines[0].beside or f"of {len(seen)} cases")
    return [*lines, Line(FOLLOWED, followed, "", 0)]


def _answer(tried: Sequence[Case], request: Recorded) -> Answer:
    found = _CASE.search(request.last_text)
    if found is None:
        return reply("ok")(request)
    answer = tried[int(found[1])].answer
    return answer if isinstance(answer, Answer) else answer(request)


async def _try_all(testbed: Testbed, site: Site, tried: Sequence[Case]) -> list[Seen]:
    with testbed.serve(site) as server:
        places = range(len(tried))
        return await asyncio.gather(
            *(_try(site, server.port, place, tried[place], site.keys[place % len(site.keys)]) for place in places)
        )


async def _try(site: Site, port: int, place: int, case: Case, key: str) -> Seen:
    given = run_input(f"[case {place}]")
    async with connected(port, key) as client:
        await client.send(given)
        end = await client.until_end(given["runId"], 200)
        conversation = given["threadId"] if site.kind == POSTGRES else given["threadId"].replace("-", "")
        stored = site.database.rows(
            "SELECT content, is_partial FROM assistant_message WHERE conversation_id = %s AND role = 'assistant'",
            conversation,
        )
        again = await client.ask("And now?", thread=given["threadId"])
    return Seen(case.name, frozenset(_missed(case, client, end, stored, again)))


def _missed(case: Case, client: Client, end: Mapping[str, Any], stored: Sequence[Any], again: Any) -> list[str]:
    missed = []
    first = client.frames[: client.frames.index(dict(end)) + 1]
    if again["type"] != "RUN_FINISHED":
        missed.append(UNTYPED)
    if case.whole is not None:
        if end["type"] != "RUN_FINISHED" or [tuple(row) for row in stored] != [(case.whole, False)]:
            missed.append(ODD)
        return missed
    is_typed = end["type"] == "RUN_ERROR" and end["code"] in CODES and "secret" not in end["message"]
    if not is_typed:
        missed.append(UNTYPED)
    if (
        not "".join(row[0] for row in stored)
        == text_of(first)
        == (case.said if "no [DONE]" not in case.name else SAID + "and ")
    ):
        missed.append(UNMARKED)
    if end["type"] == "RUN_FINISHED" or any(not row[1] for row in stored):
        missed.append(AS_WHOLE)
    return missed
