"""Which work this process does (`ASSISTANT_ROLE`): all of it, or that of a web or a worker process."""

from __future__ import annotations

from django.conf import settings
from django.db import connection

ALL, WEB, WORKER = "all", "web", "worker"


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
    return bool(settings.ASSISTANT_ROLE != WEB or settings.ASSISTANT_RUNS_ON == "web")


def problem_of_role(*, has_shared_log: bool) -> str:
    """Return what the role needs and the deployment does not have; "" if nothing."""
    if settings.ASSISTANT_ROLE == ALL:
        if settings.ASSISTANT_RUNS_ON == "web":
            return ""
        return "ASSISTANT_RUNS_ON is workers, but ASSISTANT_ROLE is all: there are none"
    if connection.vendor != "postgresql":
        return f"ASSISTANT_ROLE is {settings.ASSISTANT_ROLE}, but the database is not PostgreSQL"
    if not has_shared_log:
        return f"ASSISTANT_ROLE is {settings.ASSISTANT_ROLE}, but ASSISTANT_REDIS_URL is not set"
    if settings.ASSISTANT_RUNS_ON == "workers" and not settings.ASSISTANT_RUN_QUEUE_SECONDS:
        return "ASSISTANT_RUNS_ON is workers, but ASSISTANT_RUN_QUEUE_SECONDS is 0: runs cannot wait for them"
    return ""
