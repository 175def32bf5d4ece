"""Work in a child process: its result, and its end at each limit."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.toolkit.processes.child import (
    ChildFailed,
    ChildLimits,
    TooMuchMemory,
    TooMuchOutput,
    TooSlow,
    run_in_child,
    run_in_child_and_wait,
)

pytestmark = pytest.mark.slow

LIMITS = ChildLimits(seconds=20.0, memory_bytes=256 * 1024**2, output_bytes=1000)
FOR_EVER = "while True:\n        pass"


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    return tmp_path / "worker.py"


def write(worker: Path, body: str) -> Path:
    worker.write_text(f"import json, os, resource, sys, time\n\ndef work(task):\n    {body}\n")
    return worker


def runs(worker: Path) -> bool:
    """Whether a child of this worker runs."""
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(worker).encode() in command.read_bytes():
                return True
        except OSError:
            continue
    return False


async def test_the_result_of_a_large_task_is_returned(worker: Path) -> None:
    write(worker, 'print("noise")\n    return str(len(task)).encode()')
    assert await run_in_child(worker, b"x" * 5_000_000, LIMITS) == b"5000000"
    assert await asyncio.to_thread(run_in_child_and_wait, worker, b"xy", LIMITS) == b"2"


async def test_a_child_that_takes_too_long_is_killed_and_holds_nobody_up(worker: Path) -> None:
    work = asyncio.create_task(run_in_child(write(worker, FOR_EVER), b"", replace(LIMITS, seconds=1.0)))
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    with pytest.raises(TooSlow):
        await work
    assert turns > 100
    assert not runs(worker)


async def test_a_child_that_sleeps_is_killed_too(worker: Path) -> None:
    with pytest.raises(TooSlow):
        await run_in_child(write(worker, "time.sleep(3600)"), b"", replace(LIMITS, seconds=0.5))
    assert not runs(worker)


async def test_a_child_ends_with_its_processor_time_without_its_parent(worker: Path) -> None:
    write(worker, "return json.dumps(resource.getrlimit(resource.RLIMIT_CPU)).encode()")
    assert json.loads(await run_in_child(worker, b"", LIMITS)) == [20, 21]
    write(worker, f"resource.setrlimit(resource.RLIMIT_CPU, (1, 2))\n    {FOR_EVER}")
    with pytest.raises(TooSlow):
        await run_in_child(worker, b"", replace(LIMITS, seconds=100.0))


async def test_a_child_that_takes_too_much_memory_is_ended(worker: Path) -> None:
    with pytest.raises(TooMuchMemory):
        await run_in_child(write(worker, "return bytes(10**9)[:1]"), b"", LIMITS)
    assert await run_in_child(worker, b"", replace(LIMITS, memory_bytes=2 * 1024**3)) == b"\x00"


async def test_a_parser_that_aborts_was_refused_memory(worker: Path) -> None:
    """As those in Rust do."""
    with pytest.raises(TooMuchMemory):
        await run_in_child(write(worker, "os.abort()"), b"", LIMITS)


@pytest.mark.parametrize("size", [1001, 10**8])
async def test_a_result_that_is_too_long_is_not_read(worker: Path, size: int) -> None:
    with pytest.raises(TooMuchOutput):
        await run_in_child(write(worker, f"return bytes({size})"), b"", LIMITS)
    assert len(await run_in_child(write(worker, "return bytes(1000)"), b"", LIMITS)) == 1000


@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError",
        "os._exit(3)",
        "import tempfile; tempfile.TemporaryFile(buffering=0).write(b'x')",
    ],
)
async def test_a_child_that_fails_says_so(worker: Path, body: str) -> None:
    with pytest.raises(ChildFailed) as caught:
        await run_in_child(write(worker, body), b"x" * 10**6, LIMITS)
    assert type(caught.value) is ChildFailed


async def test_a_child_has_no_secrets_and_no_connections(worker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    write(worker, 'files = os.listdir("/proc/self/fd")\n    return json.dumps([dict(os.environ), files]).encode()')
    with socket.socket() as ours:
        os.set_inheritable(ours.fileno(), True)
        environment, files = json.loads(await run_in_child(worker, b"", LIMITS))
    assert set(environment) <= {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LC_CTYPE"}
    # Its three pipes, the copy of one of them, and the folder that is listed.
    assert len(files) <= 5


async def test_a_cancelled_caller_takes_its_child_along(worker: Path) -> None:
    work = asyncio.create_task(run_in_child(write(worker, FOR_EVER), b"", LIMITS))
    async with asyncio.timeout(10):
        while not runs(worker):
            await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not runs(worker)
