"""A child process that answers task after task of this process, started with the first and killed if it hangs."""

from __future__ import annotations

import os
import selectors
import subprocess  # nosec B404
import sys
import time
from collections.abc import Callable, Sequence
from threading import Lock

from assistant.contrib.embeddings.services.encoder import EncoderFailed

# Environment variables for the child; others can contain secrets.
_PASSED_VARIABLES = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
_MAX_HEAD = 32
# A task that has less than this share of its time left, after others, is not begun: it would end a healthy program.
_LEAST_SHARE = 0.25


class StandingChild:
    """A program that reads a line for each task and writes the length of its result, a line end, and the result.

    Args:
        arguments: returns the Python file of the program and its arguments.
        seconds: how long a task may take with its turn, and with the start of the program.
        output_bytes: the most of one result.
    """

    def __init__(self, arguments: Callable[[], Sequence[str]], *, seconds: float, output_bytes: int) -> None:
        self._arguments = arguments
        self._seconds = seconds
        self._output_bytes = output_bytes
        self._turn = Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def ask(self, task: bytes) -> bytes:
        """Return the result of a task, a line. Raises `EncoderFailed`; the next task then starts the program anew."""
        until = time.monotonic() + self._seconds
        if not self._turn.acquire(timeout=self._seconds):
            raise EncoderFailed("The model on this machine is busy.")
        try:
            if until - time.monotonic() < _LEAST_SHARE * self._seconds:
                raise EncoderFailed("The model on this machine is busy.")
            child = self._running()
            try:
                return self._exchange(child, task, until)
            except (OSError, ValueError) as exc:
                self._kill(child)
                raise EncoderFailed("The model on this machine does not answer.") from exc
        finally:
            self._turn.release()

    def stop(self) -> None:
        """End the program, if it runs."""
        with self._turn:
            if self._child is not None:
                self._kill(self._child)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self._child = subprocess.Popen(  # noqa: S603 - our own program  # nosec B603
                [sys.executable, "-P", *self._arguments()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
                start_new_session=True,
                bufsize=0,
            )
        return self._child

    def _exchange(self, child: subprocess.Popen[bytes], task: bytes, until: float) -> bytes:
        """Raises `OSError` if the program has ended or takes too long, `ValueError` if its answer is none."""
        if child.stdin is None or child.stdout is None:
            raise OSError("the program has no pipes")
        child.stdin.write(task)
        received = b""
        with selectors.DefaultSelector() as ready:
            ready.register(child.stdout, selectors.EVENT_READ)
            while True:
                head, found, rest = received.partition(b"\n")
                if int(head) > self._output_bytes if found else len(received) > _MAX_HEAD:
                    raise ValueError("the program answers with something else")
                if found and len(rest) >= int(head):
                    return rest
                if not ready.select(max(0.0, until - time.monotonic())):
                    raise TimeoutError("the program takes too long")
                more = os.read(child.stdout.fileno(), 2**16)
                if not more:
                    raise BrokenPipeError("the program has ended")
                received += more

    def _kill(self, child: subprocess.Popen[bytes]) -> None:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        self._child = None
