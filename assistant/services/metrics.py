"""What Prometheus is told of this process: counted where a run, a call or an answer ends, never for each token.

Labels are bounded: models, tools and tenants are rows that others write, so that only the first of them get a series of
their own and the rest share `other`. Which tenants count at all: `METRICS_TENANTS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from django.conf import settings
from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from assistant.core.messages import Usage
from assistant.core.toolbox import ToolOutcome
from assistant.services.catalogue import registry

# When a series began is told by none of the questions that are asked of these.
disable_created_metrics()  # type: ignore[no-untyped-call]

OTHER = "other"
# A call that did not run, of a name that is not in the deployment's catalogue: it may be the model's own invention.
UNKNOWN = "unknown"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET"})


class Bounded:
    """Lets the first `limit` values of a label through, and calls every later one `other`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value not in self._known:
            if len(self._known) >= self._limit:
                return OTHER
            self._known.add(value)
        return value


_tenant, _model, _tool, _provider = Bounded(settings.METRICS_TENANTS), Bounded(100), Bounded(500), Bounded(100)
_coroutine = Bounded(100)

_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)

_runs = Counter("assistant_runs", "Runs that have ended.", ["tenant", "outcome"])
_run_seconds = Histogram("assistant_run_seconds", "From a run's start to its end.", ["outcome"], buckets=_SECONDS)
_first_token = Histogram(
    "assistant_first_token_seconds",
    "From a run's start to the first of its answer.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 60),
)
_tokens = Counter("assistant_tokens", "Tokens as providers counted them.", ["tenant", "model", "kind"])
_provider_errors = Counter("assistant_provider_errors", "Runs that a provider failed.", ["provider", "code"])
_tool_calls = Counter("assistant_tool_calls", "Tool calls that have ended.", ["tenant", "tool", "outcome"])
_tool_seconds = Histogram("assistant_tool_call_seconds", "Duration of tool calls.", ["tool"], buckets=_SECONDS)
_deliveries = Counter("assistant_webhook_deliveries", "Tries to send a message to a webhook.", ["outcome"])
_answers = Counter("assistant_http_answers", "Answered requests and websocket handshakes.", ["method", "status"])
_sweep_seconds = Gauge("assistant_presence_sweep_seconds", "How long the last look at open connections took.")
_held_seconds = Histogram(
    "assistant_loop_held_seconds",
    "How long a task held the event loop, from 100 ms on, by its coroutine.",
    ["task"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
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
) -> None:
    """A run has ended. `usage` is by provider and model; durations are in seconds, None where nobody knows them."""
    name = _tenant(tenant)
    _runs.labels(name, outcome).inc()
    if code.startswith("provider_"):
        _provider_errors.labels(_provider(provider), code).inc()
    if seconds is not None:
        _run_seconds.labels(outcome).observe(seconds)
    if first_token is not None:
        _first_token.observe(first_token)
    for (_, model), spent in usage.items():
        known = _model(model)
        _tokens.labels(name, known, "input").inc(spent.input_tokens)
        _tokens.labels(name, known, "output").inc(spent.output_tokens)
        _tokens.labels(name, known, "cached_input").inc(spent.cached_input_tokens)


def count_calls(*, tenant: str, outcomes: Iterable[ToolOutcome], begun: Callable[[ToolOutcome], bool]) -> None:
    """A batch of tool calls has ended; `begun` says which of them ran, and so were of a tool that there is."""
    name, catalogue = _tenant(tenant), registry()
    for outcome in outcomes:
        # Wrong arguments and a question to a person are told of the tool that they are for.
        is_known = begun(outcome) or outcome.call.name in catalogue
        tool = _tool(outcome.call.name) if is_known else UNKNOWN
        _tool_calls.labels(name, tool, outcome.status).inc()
        if outcome.duration_ms:
            _tool_seconds.labels(tool).observe(outcome.duration_ms / 1000)


def count_answer(method: str, status: int) -> None:
    """A request has been answered, or a connection's handshake."""
    _answers.labels(method if method in METHODS else OTHER, str(status)).inc()


def count_delivery(outcome: str) -> None:
    """A message was sent to a webhook, or was not: `delivered`, `pending` (to be tried again) or `failed`."""
    _deliveries.labels(outcome).inc()


def count_held(coroutine: str, seconds: float) -> None:
    """The event loop was held by a task of this coroutine; nobody else in the process was served meanwhile."""
    _held_seconds.labels(_coroutine(coroutine)).observe(seconds)


class _Longest:
    """The longest of some durations, since it was last read."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def note(self, seconds: float) -> None:
        self._seconds = max(self._seconds, seconds)

    def take(self) -> float:
        seconds, self._seconds = self._seconds, 0.0
        return seconds


_longest = _Longest()
note_delay = _longest.note


def note_sweep(seconds: float) -> None:
    """Open connections have been looked at, which took so long."""
    _sweep_seconds.set(seconds)
    _swept_at.set(time.time())


def watch(name: str, description: str, read: Callable[[], float]) -> None:
    """A number that is read when somebody asks for it."""
    Gauge(name, description).set_function(read)


watch(
    "assistant_loop_longest_delay_seconds",
    "The latest that a timer of the event loop was since this was last read.",
    _longest.take,
)


def exposition() -> bytes:
    """Everything, in Prometheus' text format."""
    return generate_latest()
