"""A thread of 10,000 messages against one of 10."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.load_client import WebSocketClient
from benchmarks.processes import started
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import run_input
from benchmarks.resilience.sites import POSTGRES, SQLITE, Server, Site
from tests.fake_provider import FakeProvider

TITLE = "A thread of 10,000 messages"
HOW = (
    "Time from a prompt to its first token, in a thread of 10 messages and in one of 10,000, in turn; medians of 40 "
    "each, after a warm-up. The queries of one turn of each are counted."
)
ROUNDS, SHORT, LONG = 40, 10, 10_000
# Below the burst of 60 frames that a connection may send.
ROUNDS_A_SOCKET = 20
TTFT = "time to first token, long over short"
QUERIES = "additional queries in the long thread"
MAKE = (
    "import django; django.setup(); import json, sys; from benchmarks.site import make_thread; "
    "print(json.dumps({size: str(make_thread(size)) for size in map(int, sys.argv[1:])}), flush=True)"
)
COUNT = (
    "import django; django.setup(); from benchmarks.resilience.planting import plant; plant(); "
    "from benchmarks.queries import main; main()"
)
_TEXT, _END = re.compile(rb'^\{"type":"TEXT_MESSAGE_CONTENT"'), re.compile(rb'^\{"type":"RUN_(?:FINISHED|ERROR)"')


def read_everything() -> None:
    """Opening a run reads the whole conversation, a thousand messages at a time."""
    from assistant.core.conversation.paths import Path
    from assistant.models import Conversation, Message
    from assistant.services.runs.opening import followed_path as opening

    recent = opening.recent_messages  # type: ignore[attr-defined]

    def all_messages(*, conversation: Conversation, path: Path | None = None) -> object:
        for first in range(0, conversation.message_count, 1000):
            list(Message.objects.filter(conversation=conversation, position__range=(first, first + 999)))
        return recent(conversation=conversation, path=path)

    opening.recent_messages = all_messages  # type: ignore[assignment,attr-defined]


FAULTS = (
    Fault("opening a run reads the whole conversation", TTFT, read_everything),
    Fault("opening a run reads the whole conversation", QUERIES, read_everything),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    lines = []
    for kind in (SQLITE, POSTGRES):
        with FakeProvider() as provider, testbed.site(kind, provider.url) as site:
            threads = _said(site, MAKE, str(SHORT), str(LONG))
            with testbed.serve(site) as server:
                times = asyncio.run(_ask(testbed, site, server, list(threads.values())))
            short, long = (median(one) for one in times)
            named = TTFT if kind == SQLITE else f"{TTFT}, PostgreSQL"
            beside = f"{long * 1000:.1f} ms, {short * 1000:.1f} ms"
            lines.append(Line(named, long / short, "times", 1.5, beside=beside))
            if kind == SQLITE:  # where all queries run in one thread, and can be counted
                counts = _said(site, COUNT, json.dumps(threads))
                more = int(counts[str(LONG)]) - int(counts[str(SHORT)])
                lines.append(Line(QUERIES, abs(more), "", 0, beside=f"{counts[str(LONG)]} queries in a turn"))
    return lines


def _said(site: Site, program: str, *arguments: str) -> Mapping[str, str]:
    """Run a program in the site's environment and return the JSON that it prints."""
    with started([sys.executable, "-c", program, *arguments], site.env) as process:
        said: Mapping[str, str] = json.loads(process.read_line())
        return said


async def _ask(testbed: Testbed, site: Site, server: Server, threads: Sequence[str]) -> tuple[list[float], list[float]]:
    headers = {"Authorization": f"Bearer {site.keys[0]}"}
    url = f"ws://127.0.0.1:{server.port}/ws/bench/support/"
    socket = await WebSocketClient.open(url, headers)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(testbed.scaled(ROUNDS, 8) + 2):
        if number % ROUNDS_A_SOCKET == ROUNDS_A_SOCKET - 1:
            socket.close()
            socket = await WebSocketClient.open(url, headers)
        for place, thread in enumerate(threads):
            took = await _first_token(socket, thread)
            if number >= 2:
                times[place].append(took)
    socket.close()
    return times


async def _first_token(socket: WebSocketClient, thread: str) -> float:
    first = asyncio.ensure_future(socket.until(_TEXT))
    await asyncio.sleep(0)
    socket.received.clear()
    start = time.monotonic()
    socket.send(json.dumps(run_input("Hello there", thread=thread)))
    await first
    took = next(at for at, payload in socket.received if _TEXT.search(payload)) - start
    if not any(_END.search(payload) for _, payload in socket.received):
        await socket.until(_END)
    return took
