"""Hostile text over the websocket: in every field of every frame, with a ping after each."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.resilience.client import Client, Disconnected, connected, run_input
from benchmarks.resilience.hostile.tally import FAILURES, Tally
from benchmarks.resilience.hostile.texts import BODIES, TEXTS, VALUES
from benchmarks.resilience.sites import Server, Site

FRAMES_A_CONNECTION = 20


def _frames() -> Iterator[tuple[str, str | bytes]]:
    """Yield each hostile text in each field of each frame: a name, and the frame."""
    frames: list[dict[str, Any]] = [
        run_input("Hello", tools=[{"name": "t", "description": "d", "parameters": {"type": "object"}}]),
        {**run_input("Hello"), "messages": [{"id": "x", "role": "tool", "toolCallId": "c", "content": "r"}]},
        {**run_input("Hello"), "resume": [{"interruptId": "c", "status": "resolved", "payload": {"approved": True}}]},
        {"type": "attach", "threadId": "t", "after": {"runId": "r", "seq": 1}},
        {"type": "cancel", "runId": "r"},
        {"type": "ping", "x": "y"},
    ]
    hostile = [(name, f'"{text[:4000]}"') for name, text in TEXTS.items()] + list(VALUES.items())
    for frame in frames:
        for path in _paths(frame):
            for name, value in hostile:
                marked = _put(frame, path, "@HOSTILE@")
                yield f"{'.'.join(map(str, path))}: {name}", json.dumps(marked).replace('"@HOSTILE@"', value)
    # Invalid UTF-8 in a text frame must close the connection, so it is sent as a binary frame.
    yield from ((name, body.decode()) for name, body in BODIES.items() if name != "bad UTF-8")
    yield from ((f"{name}, binary", body) for name, body in BODIES.items())


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def _put(value: Any, path: tuple[Any, ...], new: str) -> Any:
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = _put(value[path[0]], path[1:], new)
    return copied


async def send_frames(site: Site, server: Server, tally: Tally, scale: float) -> None:
    """Send a share of all frames, at least 60."""
    frames = list(_frames())
    random.Random(6).shuffle(frames)
    frames = frames[: max(60, round(len(frames) * scale))]
    groups = [frames[at : at + FRAMES_A_CONNECTION] for at in range(0, len(frames), FRAMES_A_CONNECTION)]
    turn = asyncio.Semaphore(len(site.keys))

    async def one(number: int, group: Sequence[tuple[str, str | bytes]]) -> None:
        async with turn, connected(server.port, site.keys[number % len(site.keys)]) as client:
            for name, text in group:
                tally.tries += 1
                try:
                    await _send_frame(client, name, text, tally)
                except (Disconnected, TimeoutError):
                    tally.dead.append(name)
                    return

    await asyncio.gather(*(one(number, group) for number, group in enumerate(groups)))


async def _send_frame(client: Client, name: str, frame: str | bytes, tally: Tally) -> None:
    await client.send_raw(frame)
    await client.send({"type": "ping"})
    first = len(client.frames)
    await client.until(lambda one: one["type"] == "CUSTOM" and one["name"] == "pong", 60)
    if any(one.get("code") in FAILURES for one in client.frames[first:]):
        tally.failed.append(f"frame, {name}")
