"""What the program, never the model, hands to a tool: who is asking, for whom, and in which run."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeAlias
from uuid import UUID

from assistant.toolkit.errors import MissingSecret, ToolError
from assistant.toolkit.thread_context import propagate_to_threads

Progress = Callable[[float, float | None, str], Awaitable[None]]
# The event loop that waits for a sync tool, seen from the tool's thread.
home_loop: contextvars.ContextVar[asyncio.AbstractEventLoop] = contextvars.ContextVar("home_loop")
_EMPTY: Mapping[str, Any] = MappingProxyType({})


_MEMBERS_ONLY = "This tool works for a tenant's members only."

# The primary key of a user: a number, a text or a UUID, as the project's user model has it.
UserId: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class TenantInfo:
    """The tenant a tool acts for; `timezone` is an IANA name.

    `external_id` is the primary key, as text, of the project's own tenant that it stands for (docs/saas.md).
    """

    id: int | str | None = None
    slug: str = ""
    name: str = ""
    timezone: str = "UTC"
    external_id: str = ""

    @property
    def pk(self) -> int:
        """The primary key of the tenant's row, for queries. Raises `ToolError` if the call is for no stored tenant."""
        if not isinstance(self.id, int):
            raise ToolError(_MEMBERS_ONLY)
        return self.id


@dataclass(frozen=True, slots=True)
class UserInfo:
    """The member a tool acts for."""

    id: int | str | UUID | None = None
    username: str = ""

    @property
    def pk(self) -> UserId:
        """The primary key of the user's row, for queries. Raises `ToolError` if the call is for no stored user."""
        if self.id is None:
            raise ToolError(_MEMBERS_ONLY)
        return self.id


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The circumstances of one tool call; nothing of it is sent to a model or put into a schema.

    `history` is this run's messages so far, from the user's on, `config` the tool's settings for this tenant,
    `deadline` the moment at which the call is given up, `extra` whatever the program adds. Secrets and extra values do
    not show in `repr`.
    """

    tenant: TenantInfo = TenantInfo()
    user: UserInfo = UserInfo()
    assistant: str = ""
    thread_id: str = ""
    run_id: str = ""
    tool_call_id: str = ""
    idempotency_key: str = ""
    deadline: datetime | None = None
    history: tuple[Any, ...] = field(default=(), repr=False)
    config: Any = field(default=None, repr=False)
    extra: Mapping[str, Any] = field(default_factory=lambda: _EMPTY, repr=False)
    secrets: Mapping[str, str] = field(default_factory=lambda: _EMPTY, repr=False)
    progress: Progress | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("extra", "secrets"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        object.__setattr__(self, "history", tuple(self.history))

    def secret(self, name: str) -> str:
        """A secret of this tool for this tenant. Raises `MissingSecret` if it is not set."""
        try:
            return self.secrets[name]
        except KeyError:
            raise MissingSecret(name) from None

    def report_progress(self, done: float, total: float | None = None, message: str = "") -> Awaitable[None]:
        """Tell whoever watches how far the call is: `done` of `total`, in any unit.

        Async tools await it. A sync tool, in its thread, just calls it.
        """
        home = home_loop.get(None)
        if self.progress is None:
            return _Done()
        if home is None or home is _running_loop():
            return self.progress(done, total, message)
        asyncio.run_coroutine_threadsafe(_report(self.progress, done, total, message), home)
        return _Done()


class _Done:
    """Nothing is left to be awaited."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


async def _report(progress: Progress, done: float, total: float | None, message: str) -> None:
    await progress(done, total, message)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class _Call:
    """A call that runs: its context, until it is over."""

    __slots__ = ("context", "is_over")

    def __init__(self, context: ToolContext) -> None:
        self.context = context
        self.is_over = False


_current: contextvars.ContextVar[_Call] = contextvars.ContextVar("tool_call")


def current_context() -> ToolContext:
    """The context of the tool call that this code runs for, in threads and tasks that it started too.

    What outlives the call no longer has it: a worker that one tenant's call happened to start must not go on to work
    in that tenant's name. Hand the context on by hand to what is meant to live longer.

    Raises:
        LookupError: no tool is running here.
    """
    call = _current.get(None)
    if call is None:
        raise LookupError("No tool is running here.")
    if call.is_over:
        raise LookupError("The tool call that started this is over; hand its context on to what outlives it.")
    return call.context


@contextmanager
def use_context(context: ToolContext) -> Iterator[None]:
    """Make `context` the current one within the block, and below it."""
    call = _Call(context)
    token = _current.set(call)
    try:
        yield
    finally:
        call.is_over = True
        _current.reset(token)


@contextmanager
def _share(call: _Call) -> Iterator[None]:
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)


def _capture_context() -> AbstractContextManager[None] | None:
    call = _current.get(None)
    return None if call is None else _share(call)


propagate_to_threads(_capture_context)
