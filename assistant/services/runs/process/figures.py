"""The figures of a process's runs for `/metrics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from assistant.services import gauges
from assistant.services.eventlog.log import EventLog
from assistant.toolkit.per_loop import PerLoop


class _Runs(Protocol):
    @property
    def log(self) -> EventLog: ...

    def counts(self) -> tuple[int, int]: ...


R = TypeVar("R", bound=_Runs)


def watch_runs(runs: PerLoop[R]) -> None:
    """Show the figures of all event loops of the process."""

    def watch(name: str, text: str, count: Callable[[R], int]) -> None:
        gauges.watch(name, text, lambda: sum(map(count, runs.values())))

    watch("assistant_running_runs", "Runs in progress in this process.", lambda one: one.counts()[0])
    watch("assistant_queued_runs", "Runs that wait for their turn in this process.", lambda one: one.counts()[1])
    watch("assistant_event_log_threads", "Threads whose events are held in memory.", lambda one: one.log.size()[0])
    watch("assistant_event_log_bytes", "Bytes of the events held in memory.", lambda one: one.log.size()[1])
