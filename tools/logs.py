"""What is done, logged at DEBUG with the tenant and the run in each record; never what was said or passed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tools.context import ToolContext

_labels: ContextVar[tuple[str, str]] = ContextVar("log_labels", default=("", ""))


def note(logger: logging.Logger, context: ToolContext, message: str, *values: Any) -> None:
    """Log one operation of a run. `values` are names, counts and durations: no arguments, results, texts or secrets."""
    if logger.isEnabledFor(logging.DEBUG):
        tenant, run = context.tenant.slug, context.run_id
        text = f"{message} (tenant %s, run %s)"
        logger.debug(text, *values, tenant, run, extra={"tenant": tenant, "run": run}, stacklevel=2)


@contextmanager
def labelled(context: ToolContext) -> Iterator[None]:
    """Give every record that is logged within the block, by whoever, the tenant and the run: see `Labels`."""
    token = _labels.set((context.tenant.slug, context.run_id))
    try:
        yield
    finally:
        _labels.reset(token)


class Labels(logging.Filter):
    """For handlers: fills in `tenant` and `run` of records that were logged without; empty outside of runs.

    `labels` is both for a format: " [acme run-1]", or nothing.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, "tenant"):
            record.tenant, record.run = _labels.get()
        known = " ".join(filter(None, (record.tenant, record.run)))  # type: ignore[attr-defined]
        record.labels = f" [{known}]" if known else ""
        return True
