"""The process of a contestant: reads tasks from standard input and prints the CPU time of their turns.

It runs in the environments of other packages, so it imports nothing but the standard library.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

Ask = Callable[[str], Awaitable[str]]


def run(make: Callable[[str], Ask]) -> None:
    """Serve one contestant until the end of standard input.

    A task is a line of JSON, `{"prompt": P, "answer": A, "turns": N}`; its result is the CPU seconds of one turn.

    Args:
        make: builds the contestant for a provider's base URL; returns what answers one prompt.

    Raises:
        SystemExit: the contestant gave another answer.
    """
    asyncio.run(_serve(make(sys.argv[1])))


async def _serve(ask: Ask) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        task = json.loads(line)
        answer = await ask(task["prompt"])
        if answer != task["answer"]:
            raise SystemExit(f"a wrong answer: {answer[:200]!r}")
        start = time.process_time()
        for _ in range(task["turns"]):
            await ask(task["prompt"])
        print(json.dumps((time.process_time() - start) / task["turns"]), flush=True)
