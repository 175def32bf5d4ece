"""The context of a tool call: tenant, user, run, settings, secrets and shared state. Never sent to the model."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import json
import typing
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from datetime import datetime
from threading import Lock, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, cast
from uuid import UUID

from assistant.toolkit.carried_context import propagate_to_threads
from assistant.toolkit.carriers import Carrier, captured, captures, entered
from assistant.toolkit.errors import MissingSecret, ToolError
from assistant.toolkit.left_threads import is_of_tool, leave_threads
from assistant.toolkit.waiting import Callback

MAX_STATE = 32_000
# One operation of RFC 6902.
Operation = dict[str, Any]


@dataclass(eq=False, slots=True)
class SharedState:
    """The state of one run: what its client sent, and what its tools have made of it. Safe to use from threads.

    Attributes:
        text: the state as JSON.
    """

    text: str = "{}"
    _is_told: bool = False
    _lock: Lock = field(default_factory=Lock)

    def begin(self, value: Any) -> None:
        """Set the state that the client has sent, before any tool of the run has changed it."""
        self.text = json.dumps(value)

    @property
    def value(self) -> Any:
        """A copy of the state: any JSON value."""
        return json.loads(self.text)

    def change(self, value: Any, tell: Callable[[Any, list[Operation] | None], None]) -> None:
        """Replace the state.

        Args:
            value: any JSON value.
            tell: called with the new state, and with the operations that turn the state of the call before into it;
                None for the first change, and if a state is not an object. It is called once per change, in order.

        Raises:
            ToolError: it is no JSON value, or has more than `MAX_STATE` characters.
        """
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as exc:
            raise ToolError("The state of the page must be a JSON value.") from exc
        if len(text) > MAX_STATE:
            raise ToolError(f"The state of the page holds at most {MAX_STATE} characters of JSON.")
        with self._lock:
            before = self.text
            self.text = text
            if text != before or not self._is_told:
                operations = _patch(json.loads(before), json.loads(text)) if self._is_told else None
                self._is_told = True
                tell(json.loads(text), operations)


def _patch(before: Any, after: Any) -> list[Operation] | None:
    """Return the operations on the members of an object; None unless both are objects."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    gone = [{"op": "remove", "path": _pointer(name)} for name in before if name not in after]
    put = [
        {"op": "replace" if name in before else "add", "path": _pointer(name), "value": value}
        for name, value in after.items()
        if name not in before or before[name] != value
    ]
    return [*gone, *put]


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


# Levels of values that are made read-only; deeper ones are left as they are.
MAX_DEPTH = 30


def _refuse(self: object, *args: object, **options: object) -> NoReturn:
    raise TypeError("The values of a tool's context cannot be changed.")


class FrozenDict(dict[Any, Any]):
    """A dict that cannot be changed; its copies can."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {copy.deepcopy(key, memo): copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed; its copies can."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(value, memo) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def frozen(value: Any, depth: int = 0) -> Any:
    """Return a copy of a value whose mappings, lists and sets cannot be changed; other objects are left as they are."""
    kind = type(value)
    if kind in (FrozenDict, FrozenList) or depth > MAX_DEPTH:
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(item, depth + 1) for key, item in value.items()})
    if kind is list:
        return FrozenList([frozen(item, depth + 1) for item in value])
    if kind is tuple:
        return tuple([frozen(item, depth + 1) for item in value])
    return frozenset(value) if kind is set else value


Progress = Callable[[float, float | None, str], Awaitable[None]]
# In the thread of a sync tool: the event loop that waits for the tool.
home_loop: contextvars.ContextVar[asyncio.AbstractEventLoop] = contextvars.ContextVar("home_loop")
_EMPTY: Mapping[str, Any] = FrozenDict()
_MEMBERS_ONLY = "This tool works for a tenant's members only."

# The type of the dependencies; `ToolContext` alone is one of any.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps = TypeVar("Deps", default=Any)
else:
    # Python's own has defaults since 3.13, and only type checkers read them.
    Deps = typing.TypeVar("Deps")

# The primary key of a user: an int, str or UUID, depending on the project's user model.
UserId: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class TenantInfo:
    """The tenant a tool acts for; `timezone` is an IANA name.

    `external_id` is the primary key, as text, of the project's own tenant that this one mirrors (docs/saas.md).
    """

    id: int | str | None = None
    slug: str = ""
    name: str = ""
    timezone: str = "UTC"
    external_id: str = ""

    @property
    def pk(self) -> int:
        """The primary key of the tenant's row, for queries. Raises `ToolError` if the call has no stored tenant."""
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
        """The primary key of the user's row, for queries. Raises `ToolError` if the call has no stored user."""
        if self.id is None:
            raise ToolError(_MEMBERS_ONLY)
        return self.id


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[Deps]):
    """The context of one tool call; it is not sent to the model and not part of the tool's schema.

    Secrets, dependencies and extra values are left out of `repr`. A tool that is annotated `ToolContext[MyDeps]` gets
    dependencies of that type, or is refused when the client is made.

    Attributes:
        deps: the dependencies that the calling program gives; None in tenants' runs.
        deadline: when the call is cancelled.
        history: the run's messages so far, starting with the user's.
        config: the tool's settings for this tenant.
        extra: values that the calling program adds; their mappings, lists and sets cannot be changed.
        shared_state: what the client's page and the tools share; None where there is no page. Use `state`.
        answers: what people have answered to the questions of this call (`NeedsAnswer`), by their keys; None where
            nobody can be asked.
        read_sources: where the untrusted text came from that the model had read when it made the call. A tool that
            stores text stores these with it, and gives them to `mark_untrusted` whenever it returns that text.
        own_callback: where the call's result may come to; None if it cannot come later. Use `callback`.
        read_fields: gets the names of the fields that the tool reads; None if nobody wants to know.
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
    untrusted: Callable[[tuple[str, ...]], None] | None = field(default=None, repr=False)
    answers: Mapping[str, Mapping[str, Any]] | None = field(default=None, repr=False)
    read_sources: tuple[str, ...] = field(default=(), repr=False)
    deps: Deps = field(default=cast("Deps", None), repr=False)
    shared_state: SharedState | None = field(default=None, repr=False)
    on_state: Callable[[Any, list[Operation] | None], None] | None = field(default=None, repr=False)
    own_callback: Callback | None = field(default=None, repr=False)
    read_fields: set[str] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.extra) is not FrozenDict:
            object.__setattr__(self, "extra", frozen(self.extra) if self.extra else _EMPTY)
        object.__setattr__(self, "secrets", MappingProxyType(dict(self.secrets)))
        object.__setattr__(self, "history", tuple(self.history))

    def secret(self, name: str) -> str:
        """Return the tenant's secret for this tool. Raises `MissingSecret` if it is not set."""
        try:
            return self.secrets[name]
        except KeyError:
            raise MissingSecret(name) from None

    @property
    def callback(self) -> Callback:
        """Where the call's result goes if the tool returns `Pending`; it can be given away before the tool returns.

        The same for a call that is repeated after its process died.

        Raises:
            ToolError: the tool is not declared with `waits=True`.
        """
        if self.own_callback is None:
            raise ToolError("The result of this tool cannot come later.")
        return self.own_callback

    @property
    def state(self) -> Any:
        """A copy of the state that the client's page shares with the run: AG-UI's `state`, any JSON value.

        It comes from the caller, and tools have written into it. Reading it does not mark the call's result as
            untrusted, but no destination is trusted because it occurs there. Empty without a page.
        """
        return {} if self.shared_state is None else self.shared_state.value

    def set_state(self, value: Any) -> None:
        """Replace the state of the page. Its client gets the change at once, and later calls of the run read it.

        Raises:
            ToolError: it is no JSON value, is too long, or the run has no page.
        """
        if self.shared_state is None or self.on_state is None:
            raise ToolError("There is no page whose state this tool could change.")
        home, tell = home_loop.get(None), self.on_state
        if home is None or home is _running_loop():
            self.shared_state.change(value, tell)
        else:
            self.shared_state.change(value, lambda *change: _soon(home, tell, *change))

    def mark_untrusted(self, *sources: str) -> None:
        """Declare that the call's result contains text that outsiders wrote.

        Such text can hold instructions that are meant for the model. In a run that has read it, tools that are not
        read-only follow the tenant's rule, which by default asks a person first. A tool whose every result is of this
        kind is declared with `untrusted=True` instead.

        Args:
            sources: names for people: the title of a document, the sender of a message, the host of a page.
        """
        if self.untrusted is not None:
            self.untrusted(sources or ("",))

    def report_progress(self, done: float, total: float | None = None, message: str = "") -> Awaitable[None]:
        """Report the progress of the call to clients: `done` of `total`, in any unit.

        Async tools await the result; sync tools just call the method.
        """
        home = home_loop.get(None)
        if self.progress is None:
            return _Done()
        if home is None or home is _running_loop():
            return self.progress(done, total, message)
        asyncio.run_coroutine_threadsafe(_report(self.progress, done, total, message), home)
        return _Done()


class _Done:
    """An awaitable that is already done."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


def _soon(home: asyncio.AbstractEventLoop, tell: Callable[..., None], *change: Any) -> None:
    home.call_soon_threadsafe(tell, *change)


async def _report(progress: Progress, done: float, total: float | None, message: str) -> None:
    await progress(done, total, message)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@dataclass(eq=False, slots=True)
class RunningCall:
    """A running call of a tool; its context is valid until `is_over`."""

    context: ToolContext
    tool: str
    carriers: tuple[Carrier, ...]
    threads: list[Thread] = field(default_factory=list)
    is_over: bool = False


current_call: contextvars.ContextVar[RunningCall] = contextvars.ContextVar("tool_call")


def current_context() -> ToolContext:
    """Return the context of the running tool call, also in threads and tasks that the tool started.

    It is not available after the call, so that a shared worker started by one tenant's call does not go on acting for
    that tenant. Pass the context explicitly to code that outlives the call.

    Raises:
        LookupError: no tool is running here.
    """
    call = current_call.get(None)
    if call is None:
        raise LookupError("No tool is running here.")
    if call.is_over:
        raise LookupError("The tool call that started this code has ended; pass its context explicitly.")
    return call.context


def tool_of_task(task: asyncio.Task[Any]) -> str:
    """Return the name of the tool that runs in a task, or that started it; an empty string outside a tool.

    Before Python 3.12 a task does not show its context: tools are then known by the names of the tasks that call them,
    but not in other tasks that they start.
    """
    if hasattr(task, "get_context"):
        call = task.get_context().get(current_call)
        return "" if call is None or call.is_over else call.tool
    prefix, _, name = task.get_name().partition("-")
    return name if prefix in {"tool", "call"} else ""


@contextmanager
def use_context(context: ToolContext, tool: str = "") -> Iterator[None]:
    """Make `context` the current one within the block, in a call of `tool`."""
    around = current_call.get(None)
    carriers = around.carriers if around is not None else captured() if captures else ()
    call = RunningCall(context, tool, carriers)
    token = current_call.set(call)
    try:
        yield
    finally:
        call.is_over = True
        current_call.reset(token)
        if call.threads and tool:
            leave_threads(tool, call.threads)


def carriers_entered() -> AbstractContextManager[None]:
    """Return a context manager around what the running tool does in this thread."""
    call = current_call.get(None)
    return nullcontext() if call is None or not call.carriers else entered(call.carriers, call.context)


@contextmanager
def _enter(call: RunningCall) -> Iterator[None]:
    """Make a running call the current one in another thread. Unlike `use_context`, this does not end the call."""
    token = current_call.set(call)
    try:
        if not call.carriers:
            yield
            return
        with entered(call.carriers, call.context):
            yield
    finally:
        current_call.reset(token)


def _note_thread(thread: Thread) -> None:
    call = current_call.get(None)
    if call is not None and not call.is_over and is_of_tool(thread):
        call.threads.append(thread)


propagate_to_threads(current_call, _enter, _note_thread)


_FIELDS = frozenset(field.name for field in fields(ToolContext))


class _ReadContext(ToolContext[Any]):
    """A context whose `read_fields` gets the name of each field that is read, also by its own methods."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Leave the values as they are: they come from a context, which has frozen them."""

    def __getattribute__(self, name: str) -> Any:
        if name in _FIELDS:
            object.__getattribute__(self, "read_fields").add(name)
        return object.__getattribute__(self, name)


def as_tool_sees(context: ToolContext) -> ToolContext:
    """Return the context that a tool gets if its `read_fields` is a set: one that notes there what the tool reads."""
    return _ReadContext(**{name: getattr(context, name) for name in _FIELDS})
