"""Reads a model's answer in a task of its own, so that the turn ends whatever the model does with its cancellation."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import Any

from assistant.core.llm.protocol import Delta, Model, ModelRequest
from assistant.core.values.messages import Reply
from assistant.toolkit.calls.gate import OnLeft
from assistant.toolkit.calls.stopping import GRACE_SECONDS, stop

logger = logging.getLogger(__name__)

# Items that are read before they are asked for. It costs less to switch tasks once for several.
MOST = 32


class AnswerReader:
    """Reads one answer, some items ahead, but nothing after the `Reply`.

    Args:
        opened: returns the answer; called in the task.
        name: of the model, for the log.
        run_id: of the run, for the log; "" outside of runs.
        grace: how many seconds the model may take to clean up.
        on_left: as of `HandedIn`, with the model's name.

    Attributes:
        ready: the items that `next` would return without waiting.
    """

    def __init__(
        self,
        opened: Callable[[], AsyncIterator[Delta | Reply]],
        *,
        name: str,
        run_id: str,
        grace: float,
        on_left: OnLeft | None = None,
    ) -> None:
        self._opened = opened
        self._name = name
        self._run_id = run_id
        self._grace = grace
        self._on_left = on_left
        self._note_end: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None
        self.ready: deque[Delta | Reply] = deque()
        self._failure: Exception | None = None
        self._arrival: asyncio.Future[None] | None = None  # what waits for the next item
        self._demand: asyncio.Future[None] | None = None  # what the task waits for until it may go on
        self._is_closing = False
        self._began = time.perf_counter()

    async def next(self) -> Delta | Reply | None:
        """Return the next item; None at the end. Raises what the model raises."""
        if self.ready:
            return self.ready.popleft()
        loop = asyncio.get_running_loop()
        if self._task is None:
            self._task = loop.create_task(self._read(), name=f"answer-{self._name}")
        if not self._task.done():
            self._arrival = arrival = loop.create_future()
            if self._demand is not None and not self._demand.done():
                self._demand.set_result(None)
            try:
                await arrival
            finally:
                self._arrival = None
        if self.ready:
            return self.ready.popleft()
        if self._failure is not None:
            raise self._failure
        return None

    async def aclose(self) -> None:
        """End the answer, and wait for the model to clean up for as long as its grace."""
        self._is_closing = True
        task = self._task
        if task is None or task.done():
            return
        demand = self._demand
        is_idle = demand is not None and not demand.done()
        try:
            if demand is not None and is_idle:
                demand.set_result(None)
                await asyncio.wait({task}, timeout=self._grace)
        finally:
            if not task.done() and not await stop(task, 0.0 if is_idle else self._grace):
                self._log("goes on %.3g seconds after it was stopped, and is not waited for", self._grace)
                self._note_end = self._on_left(self._name) if self._on_left is not None else None
                task.add_done_callback(self._ended)

    async def _read(self) -> None:
        stream: Any = None
        try:
            stream = self._opened()
            if inspect.isawaitable(stream):
                stream = await stream
            while not self._is_closing and (item := await anext(stream, None)) is not None:
                self.ready.append(item)
                if self._arrival is not None:
                    self._tell()
                if len(self.ready) >= MOST or isinstance(item, Reply):
                    self._demand = asyncio.get_running_loop().create_future()
                    await self._demand
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            self._fail(RuntimeError(f"the model {self._name} awaited something that was cancelled"), exc)
        except Exception as exc:
            self._fail(exc, exc.__cause__)
        except SystemExit as exc:  # a task that raises it would end the event loop
            self._fail(RuntimeError(f"the model {self._name} raised SystemExit"), exc)
        finally:
            try:
                if isinstance(stream, AsyncGenerator):
                    await stream.aclose()
            except Exception as exc:
                self._fail(exc, exc.__cause__)
            finally:
                self._tell()

    def _tell(self) -> None:
        arrival, self._arrival = self._arrival, None
        if arrival is not None and not arrival.done():
            arrival.set_result(None)

    def _fail(self, exc: Exception, cause: BaseException | None) -> None:
        exc.__cause__ = cause
        if self._is_closing:
            logger.error("The model %s failed while it was closed", self._name, exc_info=exc)
        else:
            self._failure = exc

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it
        if self._note_end is not None:
            self._note_end()
        self._log("ended %.3g seconds after its beginning", time.perf_counter() - self._began)

    def _log(self, what: str, *values: object) -> None:
        run = f" of run {self._run_id}" if self._run_id else ""
        logger.warning("The model %s%s %s", self._name, run, what % values)


async def read_answer(model: Model, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:
    """Yield a model's answer outside of a turn; closing the generator waits for the model's grace alone."""
    reader = AnswerReader(partial(model.stream, request), name=model.name, run_id="", grace=GRACE_SECONDS)
    try:
        while (item := await reader.next()) is not None:
            yield item
    finally:
        await reader.aclose()
