"""Logging with the tenant, run and request in each record; never with messages, arguments or results.

Operations are logged at DEBUG (`log_operation`). A deployment's handler uses the filter `ContextFilter` and, for a log
collector, the formatter `JsonLines`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from assistant.toolkit.context import ToolContext


@dataclass(slots=True)
class Request:
    """One request or connection in progress; `tenant` is set after authentication."""

    id: str
    tenant: str = ""


logged_run: ContextVar[tuple[str, str]] = ContextVar("logged_run", default=("", ""))
logged_request: ContextVar[Request | None] = ContextVar("logged_request", default=None)


def log_operation(logger: logging.Logger, context: ToolContext, message: str, *values: Any) -> None:
    """Log one operation of a run. `values` are names, counts and durations: no arguments, results, texts or secrets."""
    if logger.isEnabledFor(logging.DEBUG):
        text = f"{message} (tenant %s, run %s)"
        logger.debug(text, *values, context.tenant.slug, context.run_id, extra=log_extra(context), stacklevel=2)


def log_extra(context: ToolContext) -> dict[str, str]:
    """Return the `extra` of a log record: the tenant's slug and the run's id."""
    return {"tenant": context.tenant.slug, "run": context.run_id}


@contextmanager
def run_log_context(context: ToolContext) -> Iterator[None]:
    """Add the tenant and the run to all records logged within the block, by way of `ContextFilter`."""
    token = logged_run.set((context.tenant.slug, context.run_id))
    try:
        yield
    finally:
        logged_run.reset(token)


def begin_request(request: Request) -> Token[Request | None]:
    """Add the request's id to all further log records, also in tasks and runs that the request starts."""
    return logged_request.set(request)


def end_request(token: Token[Request | None]) -> None:
    """Restore the request that was current before `begin_request`, which returned the token."""
    logged_request.reset(token)


def request_id() -> str:
    """Return the id of the current request, or of the one that started the current run; empty if there is none."""
    request = logged_request.get()
    return request.id if request else ""


def set_request_tenant(slug: str) -> None:
    """Set the tenant of the current request."""
    request = logged_request.get()
    if request is not None:
        request.tenant = slug


class ContextFilter(logging.Filter):
    """A filter for handlers that sets `tenant`, `run` and `request` of records; empty if unknown.

    It also sets `labels`, which joins the three for a format string: " [acme run-1 4f2c…]"; empty if all are.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        request = logged_request.get()
        tenant, run = logged_run.get()
        fields = vars(record)
        fields.setdefault("tenant", tenant or (request.tenant if request else ""))
        fields.setdefault("run", run)
        # Django sets `request` to the request object on some records.
        fields["request"] = request.id if request else ""
        labels = " ".join(filter(None, (fields["tenant"], fields["run"], fields["request"])))
        fields["labels"] = f" [{labels}]" if labels else ""
        return True


class JsonLines(logging.Formatter):
    """Formats records as one JSON object per line.

    Only the fields listed here are written: other libraries attach whole requests, queries and bodies to records.
    """

    LABELS = ("tenant", "run", "request")
    FIELDS = ("method", "path", "status", "duration_ms", "outcome", "events", "input_tokens", "output_tokens")

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        for name in self.LABELS:
            line[name] = getattr(record, name, "")
        for name in self.FIELDS:
            value = getattr(record, name, None)
            if isinstance(value, str | int | float):
                line[name] = value
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps(line, ensure_ascii=False, default=str)
