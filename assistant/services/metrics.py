"""What this process does, told to an optional app that counts it (`contrib/metrics/`); without one nothing is counted.

It is told at the end of a run, tool call or response, never for each token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from assistant.core.toolcalls.protocols import ToolOutcome
    from assistant.core.values.messages import Usage

OTHER = "other"


class Metrics:
    """Forgets what it is told: the base of what counts it."""

    def count_run(
        self,
        *,
        tenant: str,
        outcome: str,
        code: str = "",
        provider: str = "",
        seconds: float | None = None,
        first_token: float | None = None,
        usage: Mapping[tuple[str, str], Usage],
        is_test: bool = False,
    ) -> None:
        """Count a run that has ended. Tests of prompts are counted separately, except for their tokens.

        Args:
            seconds: the run's duration; None if it is unknown.
            first_token: seconds from the run's start to the first token; None if there was none.
            usage: by provider and model.
        """

    def count_fallback(self, *, provider: str, reason: str) -> None:
        """Count a run in which another model took over from this provider's; `reason` as in `Timeline.fallback`."""

    def count_written_calls(self, *, provider: str, outcome: str, count: int) -> None:
        """Count answers of a run that had calls of tools as text; `outcome` as in `Timeline.written_calls`."""

    def count_refused_tool(self, *, provider: str, tool: str) -> None:
        """Count a tool that a provider has refused, and that is left out of its requests."""

    def count_calls(
        self,
        *,
        tenant: str,
        outcomes: Iterable[ToolOutcome],
        is_known: Callable[[ToolOutcome], bool],
        is_test: bool = False,
    ) -> None:
        """Count a batch of tool calls that have ended.

        Args:
            is_known: whether an outcome's tool exists. Others are counted as `unknown`, because models invent names.
            is_test: they are calls of a test of a prompt, which count apart.
        """

    def count_response(self, method: str, status: int) -> None:
        """Count a response to a request or to a websocket handshake."""

    def count_unstored_run(self, reason: str) -> None:
        """Count a run whose end could not be stored: `disk full`, `read-only` or `unreachable`."""

    def count_resumed(self, tenant: str) -> None:
        """Count a run that this process goes on with."""

    def count_file(self, outcome: str) -> None:
        """Count a PDF: `text` if it was read, else the outcome that says why not."""

    def record_connection_check(self, seconds: float) -> None:
        """Record a check of all open connections that took `seconds`."""

    def add(self, series: Series, labels: tuple[str, ...], amount: float) -> None:
        """Add to a series of an optional app."""


_declared: list[Series] = []


@dataclass(frozen=True, slots=True)
class Series:
    """A series of an optional app.

    Attributes:
        name: without the ending that Prometheus wants, such as `_total`.
        labels: the names of its labels, whose values are bounded in number, as by `BoundedLabel`.
        buckets: the bounds of a histogram; none: it is a counter.
    """

    name: str
    description: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _declared.append(self)

    def add(self, *labels: str, amount: float = 1) -> None:
        """Count `amount`, or observe it, for these values of the labels."""
        counting().add(self, labels, amount)


class BoundedLabel:
    """Maps all but the first `limit` values of a label to `other`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value not in self._known:
            if len(self._known) >= self._limit:
                return OTHER
            self._known.add(value)
        return value


def declared() -> Sequence[Series]:
    """Return the series of optional apps, those that nothing was added to as well."""
    return _declared


_NOTHING = Metrics()
_names: list[str] = []


def count_with(name: str) -> None:
    """Have what is done counted by a subclass of `Metrics`: its dotted name, which is imported at the first count."""
    _names[:] = [name]


def counting() -> Metrics:
    """Return what counts."""
    return _made(_names[0]) if _names else _NOTHING


@cache
def _made(name: str) -> Metrics:
    return cast("type[Metrics]", import_string(name))()
