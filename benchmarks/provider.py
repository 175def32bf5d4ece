"""The scripted provider of all measurements. It sends prebuilt bytes, so that it is not the bottleneck.

The last user message chooses the answer:

- `[tokens=N]`: N tokens at full speed.
- `[tokens=N rate=R]`: N tokens at R a second; each token is the time at which it was sent (CLOCK_MONOTONIC, the same in
  all processes).
- `[tokens=N rate=R wait=S]`: the same, S seconds later.
- `[call NAME {...}]`, once or more: tool calls.
- `[rounds=N]`: a call of the tool `add`, N times one after the other.
- anything else: one word.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

# Tokens in one write: as much as a proxy with a buffer of 4 KiB forwards at once.
BLOCK = 20
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_CHUNK = {
    "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
    "object": "chat.completion.chunk",
    "created": 1741570283,
    "model": "scripted",
    "service_tier": "default",
    "system_fingerprint": "fp_06737a9306",
}
_TOKENS = re.compile(r"\[tokens=(\d+)(?: rate=(\d+)(?: wait=(\d+))?)?\]")
_CALL = re.compile(r"\[call ([\w-]+) (\{.*?\})\]")
_ROUNDS = re.compile(r"\[rounds=(\d+)\]")


def _event(payload: str) -> bytes:
    """Return one server-sent event as an HTTP chunk, as servers write them."""
    data = f"data: {payload}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def _delta(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event(json.dumps({**_CHUNK, "choices": [choice]}, separators=(",", ":")))


def _end(reason: str, tokens: int) -> bytes:
    usage = {"prompt_tokens": 20, "completion_tokens": tokens, "total_tokens": 20 + tokens}
    counts = _event(json.dumps({**_CHUNK, "choices": [], "usage": usage}, separators=(",", ":")))
    return _delta({}, reason) + counts + _event("[DONE]") + b"0\r\n\r\n"


_START = _delta({"role": "assistant", "content": ""})
# Paced answers are Markdown; a paragraph has so many tokens.
PARAGRAPH = 60
# The bytes around the time of a paced token, whose length is constant.
_STAMP = "0000000.000000"
_WORD = _delta({"content": f"{_STAMP} "}).split(_STAMP.encode())
_LAST = _delta({"content": f"{_STAMP}\n\n"}).split(_STAMP.encode())


def stamped(place: int) -> bytes:
    """Return the event of a paced token: the seconds of the monotonic clock."""
    before, after = _WORD if place % PARAGRAPH else _LAST
    return b"%b%014.6f%b" % (before, time.monotonic(), after)


@lru_cache(maxsize=64)
def flat_out(tokens: int) -> tuple[bytes, ...]:
    """Return an answer of words in blocks of `BLOCK` events."""
    words = [_delta({"content": f"word{number % 10} "}) for number in range(tokens)]
    blocks = [b"".join(words[start : start + BLOCK]) for start in range(0, tokens, BLOCK)]
    return (_HEAD + _START + b"".join(blocks[:1]), *blocks[1:], _end("stop", tokens))


@lru_cache(maxsize=64)
def calling(calls: tuple[tuple[str, str], ...], key: int) -> bytes:
    """Return an answer that calls tools; `key` makes the ids of the calls unique."""
    pieces = [
        _delta({"tool_calls": [{"index": place, **part}]})
        for place, (name, arguments) in enumerate(calls)
        for part in (
            {"id": f"call_{key}_{place}", "type": "function", "function": {"name": name, "arguments": ""}},
            {"function": {"arguments": arguments[:5]}},
            {"function": {"arguments": arguments[5:]}},
        )
    ]
    return _HEAD + _START + b"".join(pieces) + _end("tool_calls", 10)


def script(messages: list[dict[str, Any]]) -> tuple[bytes, ...] | tuple[int, int, int]:
    """Return the answer to a conversation: blocks of bytes, or (tokens, tokens a second, wait) of a paced answer."""
    place = max(index for index, message in enumerate(messages) if message["role"] == "user")
    text, results = _text(messages[place]), sum(message["role"] == "tool" for message in messages[place:])
    if found := _TOKENS.search(text):
        return (int(found[1]), int(found[2]), int(found[3] or 0)) if found[2] else flat_out(int(found[1]))
    if (rounds := _ROUNDS.search(text)) and results < int(rounds[1]):
        return (calling((("add", f'{{"a": {results}, "b": 2}}'),), results),)
    if not results and (calls := _CALL.findall(text)):
        return (calling(tuple(calls), 0),)
    return flat_out(1)


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class Clock:
    """Writes each token of all paced answers when it is due, in one task."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, int, float, asyncio.Transport]] = []
        self._number = 0
        self._wake = asyncio.Event()

    def add(self, transport: asyncio.Transport, tokens: int, rate: int, wait: int) -> None:
        transport.write(_HEAD + _START)
        self._number += 1
        heapq.heappush(self._due, (time.monotonic() + wait + 1 / rate, self._number, tokens, 1 / rate, transport))
        self._wake.set()

    async def run(self) -> None:
        while True:
            if not self._due:
                self._wake.clear()
                await self._wake.wait()
            await asyncio.sleep(max(0.0, self._due[0][0] - time.monotonic()))
            while self._due and self._due[0][0] <= time.monotonic():
                due, number, left, step, transport = self._due[0]
                if transport.is_closing():
                    heapq.heappop(self._due)
                    continue
                transport.write(stamped(left))
                if left > 1:
                    heapq.heapreplace(self._due, (due + step, number, left - 1, step, transport))
                else:
                    transport.write(_end("stop", left))
                    heapq.heappop(self._due)


class Connection(asyncio.Protocol):
    """A client's connection, which sends one request after the other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        size = int(length[1]) if length else 0
        if len(rest) < size:
            return
        self._received = rest[size:]
        if size:
            self._answer(json.loads(rest[:size])["messages"])
        else:
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    def _answer(self, messages: list[dict[str, Any]]) -> None:
        answer = script(messages)
        if isinstance(answer[0], int):
            self._clock.add(self._transport, *map(int, answer))
        else:
            self._write(iter(answer))

    def _write(self, blocks: Iterator[Any]) -> None:
        """Write one block, then give the other streams a turn of the event loop."""
        if (block := next(blocks, None)) is not None and not self._transport.is_closing():
            self._transport.write(block)
            asyncio.get_running_loop().call_soon(self._write, blocks)


async def serve(port: int) -> None:
    """Serve until cancelled; print the base URL once it listens."""
    clock = Clock()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(clock), "127.0.0.1", port, backlog=1000)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.gather(server.serve_forever(), clock.run())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(serve(parser.parse_args().port))
