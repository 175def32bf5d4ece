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
    """One request or connection that is being answered; `tenant` is filled in once it is known who calls."""

    id: str
    tenant: str = ""


_run: ContextVar[tuple[str, str]] = ContextVar("logged_run", default=("", ""))
_request: ContextVar[Request | None] = ContextVar("logged_request", default=None)


def log_operation(logger: logging.Logger, context: ToolContext, message: str, *values: Any) -> None:
    """Log one operation of a run. `values` are names, counts and durations: no arguments, results, texts or secrets."""
    if logger.isEnabledFor(logging.DEBUG):
        text = f"{message} (tenant %s, run %s)"
        logger.debug(text, *values, context.tenant.slug, context.run_id, extra=log_extra(context), stacklevel=2)


def log_extra(context: ToolContext) -> dict[str, str]:
    """The `extra` of a record that tells of a run: its tenant's slug and its id."""
    return {"tenant": context.tenant.slug, "run": context.run_id}


@contextmanager
def run_log_context(context: ToolContext) -> Iterator[None]:
    """Give every record that is logged within the block, by whoever, the tenant and the run: see `ContextFilter`."""
    token = _run.set((context.tenant.slug, context.run_id))
    try:
        yield
    finally:
        _run.reset(token)


def begin_request(request: Request) -> Token[Request | None]:
    """Give every record from here on the request's id, also those of tasks and runs that it starts."""
    return _request.set(request)


def end_request(token: Token[Request | None]) -> None:
    """What follows belongs to no request, or to the one before."""
    _request.reset(token)


def request_id() -> str:
    """The id of the request that is being answered, or that started the run at hand; empty outside of any."""
    request = _request.get()
    return request.id if request else ""


def set_request_tenant(slug: str) -> None:
    """Say which tenant the request at hand is for, once that is known."""
    request = _request.get()
    if request is not None:
        request.tenant = slug


class ContextFilter(logging.Filter):
    """For handlers: fills in `tenant`, `run` and `request` of records that were logged without; empty where unknown.

    `labels` is all of them for a format: " [acme run-1 4f2c…]", or nothing.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        request = _request.get()
        tenant, run = _run.get()
        fields = vars(record)
        fields.setdefault("tenant", tenant or (request.tenant if request else ""))
        fields.setdefault("run", run)
        # Django gives some of its records the request itself, which is not for the log.
        fields["request"] = request.id if request else ""
        known = " ".join(filter(None, (fields["tenant"], fields["run"], fields["request"])))
        fields["labels"] = f" [{known}]" if known else ""
        return True


class JsonLines(logging.Formatter):
    """One JSON object a line.

    Only the fields named here are written: other libraries hang whole requests, queries and bodies on their records.
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
