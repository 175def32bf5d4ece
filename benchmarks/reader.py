"""CPU of reading a stream: the product's reader against the openai package's own, in turn.

`python -m benchmarks.reader [--tokens 1000] [--rounds 7]` prints the milliseconds of CPU of 1,000 chunks, and ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import openai

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message, Reply
from assistant.providers import OpenAIModel

Read = Callable[[str, int], Awaitable[int]]


async def ours(url: str, tokens: int) -> int:
    """Read one answer as the product does, and return the number of characters."""
    request = ModelRequest([Message("user", f"[tokens={tokens}]")])
    model = OpenAIModel("fake", base_url=url, api_key="")
    reply = [event async for event in model.stream(request)][-1]
    assert isinstance(reply, Reply)
    return len(reply.text)


def theirs(client: openai.AsyncOpenAI) -> Read:
    """Return a function that reads an answer as the documentation of the openai package does."""

    async def read(url: str, tokens: int) -> int:
        stream = await client.chat.completions.create(
            model="fake",
            messages=[{"role": "user", "content": f"[tokens={tokens}]"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        text = ""
        async for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
        return len(text)

    return read


async def measure(read: Read, url: str, tokens: int, streams: int) -> float:
    """Return the CPU seconds of this process for one stream."""
    start = time.process_time()
    for _ in range(streams):
        await read(url, tokens)
    return (time.process_time() - start) / streams


async def main(url: str, tokens: int, rounds: int) -> None:
    httpx2_client = openai.AsyncOpenAI(base_url=url, api_key="none")
    aiohttp_client = openai.AsyncOpenAI(base_url=url, api_key="none", http_client=openai.DefaultAioHttpClient())
    readers: dict[str, Read] = {
        "create(stream=True), httpx2": theirs(httpx2_client),
        "create(stream=True), aiohttp": theirs(aiohttp_client),
        "OpenAIModel.stream": ours,
    }
    async with httpx2_client, aiohttp_client:
        await report(readers, url, tokens, rounds)


async def report(readers: dict[str, Read], url: str, tokens: int, rounds: int) -> None:
    lengths = {await read(url, tokens) for read in readers.values()}
    assert len(lengths) == 1, "the readers disagree"
    times: dict[str, list[float]] = {name: [] for name in readers}
    empty: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(rounds):
        for name, read in readers.items():
            times[name].append(await measure(read, url, tokens, 5))
            empty[name].append(await measure(read, url, 1, 20))
    base = statistics.median(times["create(stream=True), httpx2"])
    print(f"{'reader':32} {'ms CPU per 1,000 chunks':>24} {'ms per request':>15} {'times faster':>13}")
    for name, values in times.items():
        median = statistics.median(values)
        per_thousand = (median - statistics.median(empty[name])) * 1e6 / tokens
        print(f"{name:32} {per_thousand:24.2f} {statistics.median(empty[name]) * 1e3:15.2f} {base / median:13.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    command = [sys.executable, "-m", "tests.fake_provider", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as provider:
        try:
            assert provider.stdout is not None
            asyncio.run(main(provider.stdout.readline().strip(), options.tokens, options.rounds))
        finally:
            provider.terminate()
