"""Limits on the frames of a connection, and on those of all connections of a member."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack

from benchmarks.resilience.client import Client, Disconnected, connected
from benchmarks.resilience.limits.seen import ABOVE, BELOW, UNTRUE, UNTYPED, Seen, named
from benchmarks.resilience.sites import Server, Site

# Burst and rate as in docs/production.md, "Limits".
CONNECTION_BURST, CONNECTION_RATE = 60, 20
MEMBER_BURST, MEMBER_RATE = 600, 100
TOO_MANY, REASON = 4429, "Come back in a second."
# Twice the burst, much more than the rate admits while they are sent.
FLOOD, CONNECTIONS = 2 * CONNECTION_BURST, 2 * MEMBER_BURST // CONNECTION_BURST


async def try_frames(site: Site, servers: Sequence[Server], seen: Seen) -> None:
    """Send pings on one connection, then on many of a member's, each of which stays below its own limit."""
    port, key = servers[0].port, site.keys[0]
    await _flood(port, key, 1, FLOOD, (CONNECTION_BURST, CONNECTION_RATE), named(site, "frames of a connection"), seen)
    few = CONNECTION_BURST - 1
    await _flood(port, key, CONNECTIONS, few, (MEMBER_BURST, MEMBER_RATE), named(site, "frames of a member"), seen)
    seen.limits += 2


async def _flood(
    port: int, key: str, connections: int, frames: int, limit: tuple[int, int], name: str, seen: Seen
) -> None:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(port, key)) for _ in range(connections)]
        began = time.monotonic()
        answered = await asyncio.gather(*(ping(client, frames) for client in clients))
        taken = max(last for _, last in answered) - began
    admitted, (burst, rate) = sum(count for count, _ in answered), limit
    away = [client.connection for client in clients if client.close_code not in {None, 1000}]
    seen.tries += connections * frames
    seen.wrong[ABOVE][name] += max(0, admitted - int(burst + 1 + rate * taken)) + (not away)
    seen.wrong[BELOW][name] += max(0, burst - admitted)
    seen.wrong[UNTYPED][name] += sum(one.close_code != TOO_MANY or REASON not in str(one.close_reason) for one in away)
    await asyncio.sleep(1)
    async with connected(port, key) as client:
        count, _ = await ping(client, 1)
    seen.wrong[UNTRUE][name] += 1 - count


async def ping(client: Client, frames: int) -> tuple[int, float]:
    """Send so many pings at once; return how many were answered, and the time of the last answer."""
    count, last = 0, time.monotonic()
    try:
        for _ in range(frames):
            await client.send({"type": "ping"})
        while count < frames:
            await client.until(lambda frame: frame.get("name") == "pong")
            count, last = count + 1, time.monotonic()
    except Disconnected:
        pass
    return count, last
