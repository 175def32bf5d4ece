"""Which part of the work this process has (`ASSISTANT_ROLE`): all of it, or that of a web or a worker process."""

from __future__ import annotations

from django.conf import settings

ALL, WEB, WORKER = ROLES = ("all", "web", "worker")


def has_workers() -> bool:
    """Whether the deployment has worker processes besides those for the web."""
    return bool(settings.ASSISTANT_ROLE != ALL)


def does_background_work() -> bool:
    """Whether this process does what no request waits for."""
    return bool(settings.ASSISTANT_ROLE != WEB)


def shares_runs() -> bool:
    """Whether a queued run may be started by another process than the one that opened it."""
    return has_workers()


def starts_queued_runs() -> bool:
    """Whether this process may start queued runs, while it has room."""
    return bool(settings.ASSISTANT_ROLE != WEB or settings.RUNS_ON == "web")
