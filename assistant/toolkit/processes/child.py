"""Runs work on untrusted data in a child process with limits of time, memory and output.

The limits keep one input from occupying the server. They are no sandbox: the child has the rights of the server's user.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assistant.toolkit.processes.entry import OUT_OF_MEMORY

_ENTRY = Path(__file__).with_name("entry.py")
# Environment variables for the child; others can contain secrets.
_PASSED_VARIABLES = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """The limits of one child process. It is killed when it exceeds one.

    Attributes:
        seconds: from its start to its end, and of processor time, which is rounded up.
        memory_bytes: its address space, with Python itself. Enforced on Linux only.
        output_bytes: the length of its result.
        niceness: how far its priority is lowered, from 0 to 19, so that the server comes first.
    """

    seconds: float
    memory_bytes: int
    output_bytes: int
    niceness: int = 0


class ChildFailed(Exception):
    """The child process ended without a result."""


class TooSlow(ChildFailed):
    """It exceeded its time."""


class TooMuchMemory(ChildFailed):
    """It exceeded its memory."""


class TooMuchOutput(ChildFailed):
    """Its result is longer than allowed."""


async def run_in_child(worker: Path, task: bytes, limits: ChildLimits) -> bytes:
    """Call `work(task)` of a Python file in a child process and return its result, which is bytes too.

    The file is run by its path, so it imports nothing of the server. The child has no open file or socket of the server
    and none of its environment but the paths of Python. If the caller is cancelled, the child is killed.

    Raises:
        TooSlow, TooMuchMemory, TooMuchOutput: it exceeded a limit.
        ChildFailed: it failed otherwise.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(_ENTRY),
        str(worker),
        str(limits.seconds),
        str(limits.memory_bytes),
        str(limits.niceness),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
        start_new_session=True,
    )
    feeding = asyncio.create_task(_feed(child, task))
    try:
        async with asyncio.timeout(limits.seconds):
            output = await _read(child, limits.output_bytes)
            code = await child.wait()
    except TimeoutError:
        raise TooSlow from None
    finally:
        await _end(child, feeding)
    if code != 0:
        raise _failure(code)
    return output


def run_in_child_and_wait(worker: Path, task: bytes, limits: ChildLimits) -> bytes:
    """Do the same as `run_in_child` for synchronous code, in a thread without a running event loop."""
    return asyncio.run(run_in_child(worker, task, limits))


async def _feed(child: Process, task: bytes) -> None:
    assert child.stdin is not None  # noqa: S101 - a pipe was asked for  # nosec B101
    # A child that fails does not read to the end.
    with suppress(ConnectionError):
        child.stdin.write(task)
        await child.stdin.drain()
    child.stdin.close()


async def _read(child: Process, most: int) -> bytes:
    assert child.stdout is not None  # noqa: S101 - a pipe was asked for  # nosec B101
    try:
        await child.stdout.readexactly(most + 1)
    except asyncio.IncompleteReadError as whole:
        return whole.partial
    raise TooMuchOutput


async def _end(child: Process, feeding: asyncio.Task[None]) -> None:
    feeding.cancel()
    await asyncio.gather(feeding, return_exceptions=True)
    if child.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    # asyncio regards a process as ended once its output has been read.
    while child.stdout is not None and await child.stdout.read(2**16):
        pass
    await child.wait()


def _failure(code: int) -> ChildFailed:
    # Parsers in Rust abort when they are refused memory.
    if code in (OUT_OF_MEMORY, -signal.SIGABRT):
        return TooMuchMemory()
    if code == -signal.SIGXCPU:
        return TooSlow()
    return ChildFailed(f"The child process ended with code {code}.")
