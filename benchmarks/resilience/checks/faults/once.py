"""The same message sent many times: at once, by a double click, by a retry, from two tabs."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import Client, Frame, connected, run_input, shown
from benchmarks.resilience.sites import POSTGRES, SQLITE, Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

TITLE = "The same message many times"
HOW = (
    "One input sent 50 times at once, over 40 sockets and 10 REST requests, to two server processes on PostgreSQL and "
    "Redis and to one on SQLite; twice on one socket (a double click); again on a new connection after the first was "
    "dropped before its answer, and after the answer (retries); and from two tabs at once, as two runs with the same "
    "message."
)
SENDERS, OVER_REST = 50, 10
RUNS, MESSAGES, CALLS, DIFFERENT = (
    "additional runs",
    "additional messages",
    "additional requests to the provider",
    "senders without the complete answer",
)
ANSWER = "".join(f"word{n} " for n in range(20))


FORGETS = "a client that retries uses new ids"


def know_no_run() -> None:
    """Neither runs nor messages are recognised by their ids."""
    from assistant.services.runs.opening import open_run as opening

    find = opening.read_opening_state  # type: ignore[attr-defined]

    def forgetful(*args: Any, **options: Any) -> Any:
        place = find(*args, **options)
        return place and replace(place, same_run=None, has_message=False)

    opening.read_opening_state = forgetful  # type: ignore[attr-defined]


def store_twice() -> None:
    """An answer is stored twice."""
    from assistant.services.runs import closing

    store = closing.store_messages  # type: ignore[attr-defined]

    def careless(*, messages: Sequence[Any], **rest: Any) -> None:
        again = [replace(message, id=f"{message.id}-again") for message in messages]
        store(messages=[*messages, *again], **rest)

    closing.store_messages = careless  # type: ignore[attr-defined]


def ask_twice() -> None:
    """The provider is asked twice for each answer."""
    from assistant.providers.openai import OpenAIModel

    ask = OpenAIModel._open

    async def careless(self: OpenAIModel, request: Any) -> Any:
        await (await ask(self, request)).aclose()
        return await ask(self, request)

    OpenAIModel._open = careless  # type: ignore[method-assign]


FAULTS = (
    Fault(FORGETS, RUNS),
    Fault("an answer is stored twice", MESSAGES, store_twice),
    Fault("the provider is asked twice", CALLS, ask_twice),
    Fault("neither runs nor messages are recognised by their ids", DIFFERENT, know_no_run),
)


@dataclass(frozen=True, slots=True)
class Sent:
    """One input that was sent several times, and whether each sender got the complete answer."""

    given: Frame
    is_whole: Sequence[bool]


def measure(testbed: Testbed) -> Sequence[Line]:
    sent = runs = messages = calls = different = 0
    for kind in (SQLITE, POSTGRES):
        with (
            FakeProvider() as provider,
            testbed.site(kind, provider.url) as site,
            testbed.serve(site) as here,
            testbed.serve(site) as there,
        ):
            provider.rule(_answer)
            servers = [here, here] if kind == SQLITE else [here, there]
            all_sent = asyncio.run(_send_all(testbed, site, servers))
            sent += len(all_sent)
            runs += abs(site.database.rows("SELECT count(*) FROM assistant_run")[0][0] - len(all_sent))
            messages += abs(site.database.rows("SELECT count(*) FROM assistant_message")[0][0] - 2 * len(all_sent))
            calls += abs(len(provider.requests) - len(all_sent))
            different += sum(not whole for one in all_sent for whole in one.is_whole)
    return [
        Line(RUNS, runs, "", 0, beside=f"of {sent} inputs"),
        Line(MESSAGES, messages, "", 0),
        Line(CALLS, calls, "", 0),
        Line(DIFFERENT, different, "", 0),
    ]


def _answer(request: Recorded) -> Answer:
    return reply(chunks=[f"word{n} " for n in range(20)], delay=0.01)(request)


async def _send_all(testbed: Testbed, site: Site, servers: Sequence[Server]) -> list[Sent]:
    done = [await _at_once(testbed, site, servers)]
    rounds = testbed.scaled(10, 2)
    done += await asyncio.gather(*(_double_click(site, servers, n) for n in range(rounds)))
    done += await asyncio.gather(*(_retry(testbed, site, servers, n) for n in range(rounds)))
    done += await asyncio.gather(*(_two_tabs(site, servers, n) for n in range(rounds)))
    return done


async def _at_once(testbed: Testbed, site: Site, servers: Sequence[Server]) -> Sent:
    """Let all clients send the same input at once, and read to the end."""
    given, key = run_input("Once, please"), site.keys[0]
    senders = testbed.scaled(SENDERS - OVER_REST, 8)
    async with AsyncExitStack() as stack:
        ports = [servers[n % 2].port for n in range(senders)]
        clients = [await stack.enter_async_context(connected(port, key)) for port in ports]
        posts = [_post(servers[n % 2].port, key, given) for n in range(testbed.scaled(OVER_REST, 2))]
        wholes = await asyncio.gather(*(_send_and_read(client, given) for client in clients), *posts)
    return Sent(given, wholes)


async def _send_and_read(client: Client, given: Frame) -> bool:
    await client.send(given)
    await client.until_end(given["runId"])
    return shown(client.frames) == ANSWER


async def _post(port: int, key: str, given: Frame) -> bool:
    url = f"http://127.0.0.1:{port}/api/v1/tenants/bench/assistants/support/runs/"
    async with httpx2.AsyncClient(timeout=90) as http:
        answer = await http.post(url, json=given, headers={"Authorization": f"Bearer {key}"})
    frames = [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data: ")]
    return answer.status_code == 200 and shown(frames) == ANSWER and frames[-1]["type"] == "RUN_FINISHED"


async def _double_click(site: Site, servers: Sequence[Server], number: int) -> Sent:
    given = run_input("A double click")
    async with connected(servers[0].port, site.keys[number % len(site.keys)]) as client:
        await client.send(given)
        await client.send(given)
        await client.until_end(given["runId"])
        return Sent(given, [shown(client.frames) == ANSWER])


async def _retry(testbed: Testbed, site: Site, servers: Sequence[Server], number: int) -> Sent:
    """Drop the connection after sending, send again and read the answer, then send once more."""
    given, key = run_input("A retry"), site.keys[number % len(site.keys)]
    async with connected(servers[0].port, key) as lost:
        await lost.send(given)
        lost.drop()
    async with connected(servers[1].port, key) as client:
        wholes = [await _send_and_read(client, given)]
    async with connected(servers[0].port, key) as client:
        again = run_input("A retry", thread=given["threadId"]) if testbed.has_fault(FORGETS) else given
        return Sent(given, [*wholes, await _send_and_read(client, again)])


async def _two_tabs(site: Site, servers: Sequence[Server], number: int) -> Sent:
    """Send the same message from two tabs as two runs, of which one must be refused."""
    given, key = run_input("Two tabs"), site.keys[number % len(site.keys)]
    async with connected(servers[0].port, key) as one, connected(servers[1].port, key) as two:
        other = {**given, "runId": str(uuid.uuid4())}
        await asyncio.gather(one.send(given), two.send(other))
        ends = await asyncio.gather(one.until_end(given["runId"]), two.until_end(other["runId"]))
    finished = [end["type"] == "RUN_FINISHED" for end in ends]
    codes = {end.get("code") for end in ends} - {None}
    is_refused = sum(finished) == 1 and codes <= {"thread_busy", "invalid_input"}
    return Sent(given, [is_refused])
