"""A contestant's process: reads tasks from standard input and prints what a turn of each cost it.

Runs in environments that have nothing of this project but these files, so it knows the standard library only.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

Ask = Callable[[str], Awaitable[str]]


def run(make: Callable[[str], Ask]) -> None:
    """Serve one contestant; `make` builds it for a provider's base URL, and what it makes answers one prompt.

    A task is a line of JSON, `{"prompt": P, "answer": A, "turns": N}`; its result the CPU seconds of one turn.
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
