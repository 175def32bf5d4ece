"""Does the jobs that are due, as the housekeeping of a server does."""

from __future__ import annotations

from collections.abc import Callable

from assistant.services.jobs.jobs import LongWork, look_for_jobs


def do_due_jobs(*, start: Callable[[LongWork], None] | None = None) -> int:
    """Do the due jobs of all tenants as `look_for_jobs` does; return how many were done."""
    return look_for_jobs(start=start).done
