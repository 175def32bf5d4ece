"""The Prometheus metrics of this process, updated at the end of a run, tool call or response, never for each token.

Labels have a bounded number of values: tenants create models and tools, so the first ones get a series each and the
rest share `other`. The setting `ASSISTANT_METRICS_TENANTS` is the number of tenants with a series of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.conf import settings

from assistant.services import gauges
from assistant.toolkit.left_threads import left_threads

if TYPE_CHECKING:
    from assistant.core.toolcalls.protocols import ToolOutcome
    from assistant.core.values.messages import Usage

try:
    import prometheus_client as package
except ImportError:  # without the extra `metrics`: nothing is counted
    from assistant.services import no_metrics as package  # type: ignore[no-redef]  # with as much as is used here

Counter = package.Counter
Gauge = package.Gauge
Histogram = package.Histogram
CONTENT_TYPE = package.CONTENT_TYPE_LATEST

# Without the `_created` series, which no dashboard uses.
package.disable_created_metrics()  # type: ignore[no-untyped-call]

OTHER = "other"
UNKNOWN = "unknown"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET"})


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


_tenant = BoundedLabel(settings.ASSISTANT_METRICS_TENANTS)
_model, _tool, _provider = BoundedLabel(100), BoundedLabel(500), BoundedLabel(100)
_coroutine = BoundedLabel(100)

_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)

_tool_threads = Gauge("assistant_tool_threads", "Threads that run after the calls that started them.", ["tool"])
_runs = Counter("assistant_runs", "Runs that have ended.", ["tenant", "outcome"])
_test_runs = Counter(
    "assistant_test_runs", "Runs of tests of prompts, which other series of runs leave out.", ["outcome"]
)
_test_calls = Counter("assistant_test_tool_calls", "Tool calls of tests of prompts.", ["tool", "outcome"])
_run_seconds = Histogram("assistant_run_seconds", "From a run's start to its end.", ["outcome"], buckets=_SECONDS)
_first_token = Histogram(
    "assistant_first_token_seconds",
    "From a run's start to the first of its answer.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 60),
)
_tokens = Counter("assistant_tokens", "Tokens as providers counted them.", ["tenant", "model", "kind"])
_provider_errors = Counter("assistant_provider_errors", "Runs that a provider failed.", ["provider", "code"])
_fallbacks = Counter("assistant_model_fallbacks", "Runs in which another model took over.", ["provider", "reason"])
_written_calls = Counter(
    "assistant_written_calls", "Answers with calls of tools as text, which were run or failed.", ["provider", "outcome"]
)
_refused_tools = Counter("assistant_refused_tools", "Tools that providers have refused.", ["provider", "tool"])
_tool_calls = Counter("assistant_tool_calls", "Tool calls that have ended.", ["tenant", "tool", "outcome"])
_tool_seconds = Histogram("assistant_tool_call_seconds", "Duration of tool calls.", ["tool"], buckets=_SECONDS)
_answers = Counter("assistant_http_answers", "Answered requests and websocket handshakes.", ["method", "status"])
_unstored_runs = Counter("assistant_unstored_runs", "Runs whose end the database could not store.", ["reason"])
_runs_resumed = Counter("assistant_runs_resumed", "Runs of dead or stopped processes that went on here.", ["tenant"])
_files = Counter("assistant_files_read", "Uploaded PDFs that were read or refused.", ["outcome"])
_sweep_seconds = Gauge("assistant_presence_sweep_seconds", "How long the last look at open connections took.")
_held_seconds = Histogram(
    "assistant_loop_held_seconds",
    "How long a task held the event loop, from 100 ms on, by its coroutine.",
    ["task"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
_tool_held_seconds = Counter("assistant_tool_held_loop_seconds", "Seconds that a tool held the event loop.", ["tool"])
_stopped_seconds = Counter("assistant_stopped_seconds", "Seconds in which this process did not run at all.")
_swept_at = Gauge("assistant_presence_sweep_timestamp_seconds", "When open connections were last looked at.")


def count_run(
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
    name = _tenant(tenant)
    if code.startswith("provider_"):
        _provider_errors.labels(_provider(provider), code).inc()
    if is_test:
        _test_runs.labels(outcome).inc()
    else:
        _runs.labels(name, outcome).inc()
        if seconds is not None:
            _run_seconds.labels(outcome).observe(seconds)
        if first_token is not None:
            _first_token.observe(first_token)
    for (_, model), spent in usage.items():
        known = _model(model)
        _tokens.labels(name, known, "input").inc(spent.input_tokens)
        _tokens.labels(name, known, "output").inc(spent.output_tokens)
        _tokens.labels(name, known, "cached_input").inc(spent.cached_input_tokens)
        _tokens.labels(name, known, "cache_write_input").inc(spent.cache_write_tokens)


def count_fallback(*, provider: str, reason: str) -> None:
    """Count a run in which another model took over from one of this provider; `reason` as in `Timeline.fallback`."""
    _fallbacks.labels(_provider(provider), reason).inc()


def count_written_calls(*, provider: str, outcome: str, count: int) -> None:
    """Count answers of a run that had calls of tools as text; `outcome` as in `Timeline.written_calls`."""
    _written_calls.labels(_provider(provider), outcome).inc(count)


def count_refused_tool(*, provider: str, tool: str) -> None:
    """Count a tool that a provider has refused, and that is left out of its requests."""
    _refused_tools.labels(_provider(provider), _tool(tool)).inc()


def count_calls(
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
    name = _tenant(tenant)
    for outcome in outcomes:
        tool = _tool(outcome.call.name) if is_known(outcome) else UNKNOWN
        if is_test:
            _test_calls.labels(tool, outcome.status).inc()
            continue
        _tool_calls.labels(name, tool, outcome.status).inc()
        if outcome.duration_ms:
            _tool_seconds.labels(tool).observe(outcome.duration_ms / 1000)


def count_response(method: str, status: int) -> None:
    """Count a response to a request or to a websocket handshake."""
    _answers.labels(method if method in METHODS else OTHER, str(status)).inc()


def count_unstored_run(reason: str) -> None:
    """Count a run whose end could not be stored: `disk full`, `read-only` or `unreachable`."""
    _unstored_runs.labels(reason).inc()


def count_resumed(tenant: str) -> None:
    """Count a run that this process goes on with."""
    _runs_resumed.labels(_tenant(tenant)).inc()


def count_file(outcome: str) -> None:
    """Count a PDF: `text` if it was read, else the outcome that says why not."""
    _files.labels(outcome).inc()


def count_held(coroutine: str, seconds: float, *, tool: str = "") -> None:
    """Count a time in which a task of this coroutine held the event loop, so that nothing else in the process ran.

    Args:
        tool: the name of the tool that the task ran, if any.
    """
    _held_seconds.labels(_coroutine(coroutine)).observe(seconds)
    if tool:
        _tool_held_seconds.labels(_tool(tool)).inc(seconds)


def count_stop(seconds: float) -> None:
    """Count a time in which the whole process did not run, such as after SIGSTOP."""
    _stopped_seconds.inc(seconds)


class _Longest:
    """The longest of some durations, since it was last read."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def record(self, seconds: float) -> None:
        self._seconds = max(self._seconds, seconds)

    def take(self) -> float:
        seconds, self._seconds = self._seconds, 0.0
        return seconds


_longest = _Longest()
record_delay = _longest.record


def record_connection_check(seconds: float) -> None:
    """Record a check of all open connections that took `seconds`."""
    _sweep_seconds.set(seconds)
    _swept_at.set(time.time())


gauges.watch(
    "assistant_loop_longest_delay_seconds",
    "The latest that a timer of the event loop was since this was last read.",
    _longest.take,
)
_gauges: dict[str, Any] = {}


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format."""
    for name, (description, read) in gauges.watched.items():
        if name not in _gauges:
            _gauges[name] = Gauge(name, description)
            _gauges[name].set_function(read)
    _tool_threads.clear()
    for tool, count in left_threads.counts().items():
        _tool_threads.labels(_tool(tool)).inc(count)
    return package.generate_latest()
