"""The Prometheus metrics of this process.

Labels have a bounded number of values: tenants create models and tools, so the first ones get a series each and the
rest share `other`. The setting `ASSISTANT_METRICS_TENANTS` is the number of tenants with a series of their own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import prometheus_client
from django.conf import settings
from prometheus_client import Counter, Gauge, Histogram

from assistant.services import gauges
from assistant.services.metrics import OTHER, BoundedLabel, Metrics, Series, declared
from assistant.toolkit.left_threads import left_threads

if TYPE_CHECKING:
    from assistant.core.toolcalls.protocols import ToolOutcome
    from assistant.core.values.messages import Usage

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST

# Without the `_created` series, which no dashboard uses.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

UNKNOWN = "unknown"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET"})

_tenant = BoundedLabel(settings.ASSISTANT_METRICS_TENANTS)
_model, _tool, _provider = BoundedLabel(100), BoundedLabel(500), BoundedLabel(100)

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
_swept_at = Gauge("assistant_presence_sweep_timestamp_seconds", "When open connections were last looked at.")
# Of optional apps, by name.
_added: dict[str, Any] = {}
_adding = threading.Lock()


def _metric_of(series: Series) -> Any:
    # Threads may be the first at once.
    with _adding:
        if series.name not in _added:
            if series.buckets:
                metric: Any = Histogram(series.name, series.description, series.labels, buckets=series.buckets)
            else:
                metric = Counter(series.name, series.description, series.labels)
            _added[series.name] = metric
        return _added[series.name]


class Prometheus(Metrics):
    """Counts in the series above."""

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

    def count_fallback(self, *, provider: str, reason: str) -> None:
        _fallbacks.labels(_provider(provider), reason).inc()

    def count_written_calls(self, *, provider: str, outcome: str, count: int) -> None:
        _written_calls.labels(_provider(provider), outcome).inc(count)

    def count_refused_tool(self, *, provider: str, tool: str) -> None:
        _refused_tools.labels(_provider(provider), _tool(tool)).inc()

    def count_calls(
        self,
        *,
        tenant: str,
        outcomes: Iterable[ToolOutcome],
        is_known: Callable[[ToolOutcome], bool],
        is_test: bool = False,
    ) -> None:
        name = _tenant(tenant)
        for outcome in outcomes:
            tool = _tool(outcome.call.name) if is_known(outcome) else UNKNOWN
            if is_test:
                _test_calls.labels(tool, outcome.status).inc()
                continue
            _tool_calls.labels(name, tool, outcome.status).inc()
            if outcome.duration_ms:
                _tool_seconds.labels(tool).observe(outcome.duration_ms / 1000)

    def count_response(self, method: str, status: int) -> None:
        _answers.labels(method if method in METHODS else OTHER, str(status)).inc()

    def count_unstored_run(self, reason: str) -> None:
        _unstored_runs.labels(reason).inc()

    def count_resumed(self, tenant: str) -> None:
        _runs_resumed.labels(_tenant(tenant)).inc()

    def count_file(self, outcome: str) -> None:
        _files.labels(outcome).inc()

    def record_connection_check(self, seconds: float) -> None:
        _sweep_seconds.set(seconds)
        _swept_at.set(time.time())

    def add(self, series: Series, labels: tuple[str, ...], amount: float) -> None:
        metric = _metric_of(series)
        if labels:
            metric = metric.labels(*labels)
        if series.buckets:
            metric.observe(amount)
        else:
            metric.inc(amount)


_gauges: dict[str, Any] = {}


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format."""
    for series in declared():
        _metric_of(series)
    for name, (description, read) in gauges.watched.items():
        if name not in _gauges:
            _gauges[name] = Gauge(name, description)
            _gauges[name].set_function(read)
    _tool_threads.clear()
    for tool, count in left_threads.counts().items():
        _tool_threads.labels(_tool(tool)).inc(count)
    return prometheus_client.generate_latest()
