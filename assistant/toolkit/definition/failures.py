"""What becomes of an unexpected exception of a tool: `on_error`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assistant.toolkit.calls.gate import HandedIn, ask, positional_mistake
from assistant.toolkit.context import ToolContext
from assistant.toolkit.errors import ToolError, errors_in

Told = Literal["model", "raise"]
# A function of the exception: returns a sentence for the model, or raises.
OnException = Callable[[Exception], Awaitable[str] | str]
# "model" reports the failure to the model, without the exception's text; "raise" ends the run. A mapping says it for
# classes of exceptions: the most derived class counts.
OnError = Told | OnException | Mapping[type[Exception], Told | OnException]


def way_for(on_error: OnError, exc: BaseException) -> Told | OnException:
    """Return what `on_error` says of an exception; "model" where it says nothing."""
    if not isinstance(on_error, Mapping):
        return on_error
    return next((on_error[cls] for cls in type(exc).__mro__ if cls in on_error), "model")


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided about an exception: neither is set if the model learns only that the tool failed.

    Attributes:
        sentence: what the model reads.
        raised: what ends the run.
    """

    sentence: str | None = None
    raised: BaseException | None = None


async def decide(exc: BaseException, of_tool: OnError, of_run: OnError, *, tool: str, context: ToolContext) -> Decided:
    """Return what becomes of an exception: what its tool says of it, else what the run says.

    A group of one exception, which `asyncio.TaskGroup` raises, counts as that exception.
    """
    errors = list(errors_in(exc))
    exc = errors[0] if len(errors) == 1 else exc
    way = way_for(of_tool, exc)
    if way == "model":
        way = way_for(of_run, exc)
    if not callable(way) or not isinstance(exc, Exception):
        return Decided(raised=exc if way == "raise" else None)
    answer = await ask(HandedIn(way, (exc,), "on_error", tool, kind=str))
    if isinstance(answer.error, ToolError):
        return Decided(sentence=str(answer.error))
    if answer.error is not None:
        return Decided(raised=answer.error)
    answer.report("the model learns only that the tool failed", context)
    return Decided(sentence=None if answer.problem else answer.value)


def mistake_in(on_error: Any) -> str:
    """Return what is wrong with an `on_error`, as the rest of a sentence; empty if nothing."""
    if isinstance(on_error, Mapping):
        for cls, way in on_error.items():
            if not (isinstance(cls, type) and issubclass(cls, Exception)):
                return f"has {cls!r} as a key, which is no class of exceptions"
            if isinstance(way, Mapping) or (mistake := mistake_in(way)):
                return f"for {cls.__name__} {'is a mapping again' if isinstance(way, Mapping) else mistake}"
        return ""
    if callable(on_error):
        return positional_mistake(on_error, 1)
    return (
        "" if on_error in ("model", "raise") else f'must be "model", "raise", a function or a mapping, not {on_error!r}'
    )
