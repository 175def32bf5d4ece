"""Probes for load balancers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import sync_and_async_middleware
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from assistant.services import addresses, readiness
from assistant.services.connections import shutdown
from assistant.services.db.clock import MAX_DIFFERENCE_SECONDS, Reading, database_time, read_clock
from assistant.services.db.single_flight import SingleFlight
from assistant.services.db.write_probe import FAILED, OK, write_probe
from assistant.services.errors import describe_outage, is_at_connection_limit
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

NO_CONNECTIONS, NO_ANSWER = "no free connections", "no answer"
READY, NOT_READY = "ready", "not ready"
# Less than load balancers and the container's health check wait.
READY_SECONDS = 3.0


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 while the process runs, regardless of its dependencies."""
    return JsonResponse({"status": "alive"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the process can serve requests, otherwise 503 with the names of the failed checks.

    `answer_probe` has the same within `READY_SECONDS`.
    """
    return _as_response(_readiness())


@require_safe
@never_cache
async def _readyz_in_time(request: HttpRequest) -> JsonResponse:
    body = await _flights.get().outcome(READY_SECONDS)
    if body is None:
        logger.error("Not ready: the database did not answer within %g s", READY_SECONDS)
        body = {"status": NOT_READY, "checks": {"database": NO_ANSWER}}
    return _as_response(body)


def _as_response(body: dict[str, Any]) -> JsonResponse:
    return JsonResponse(body, status=200 if body["status"] == READY else 503)


def _readiness() -> dict[str, Any]:
    """Return the body of `readyz`.

    In place of "failed", `writes` says "disk full" or "read-only", those of apps have their own words, and `database`
    "no free connections" or "no answer" if that is the reason. A host whose clock differs from the database's by
    more than 2 s is ready, and says so.
    """
    database, reading = _clock()
    checks = {"migrations": _migrations()}
    writes = write_probe.outcome() if reading is not None else None
    if shutdown.is_shutting_down():
        checks["draining"] = False
    said = {"database": database, **{name: OK if passed else FAILED for name, passed in checks.items()}}
    said |= readiness.outcomes()
    if writes is not None:
        said["writes"] = writes
    body: dict[str, Any] = {"status": READY if set(said.values()) == {OK} else NOT_READY, "checks": said}
    if reading is not None:
        # No reason to be taken out of service: leases are the database's time.
        is_apart = abs(reading.difference) > MAX_DIFFERENCE_SECONDS
        body["clock"] = {
            "status": "differs" if is_apart else "ok",
            "seconds_ahead_of_database": round(reading.difference, 1),
        }
    return body


# Connects of a database may hang; probes that come meanwhile wait for the same check.
_flights: PerLoop[SingleFlight[dict[str, Any]]] = PerLoop(lambda: SingleFlight(_readiness))


def _clock() -> tuple[str, Reading | None]:
    """Return the database's state, and a reading of its clock; None if it does not answer."""
    try:
        return OK, read_clock(database_time)
    except DatabaseError as exc:
        logger.error("Not ready: %s", describe_outage(exc))
        return NO_CONNECTIONS if is_at_connection_limit(exc) else FAILED, None


def _migrations() -> bool:
    try:
        executor = MigrationExecutor(connection)
        return not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as exc:
        logger.error("Not ready: the applied migrations could not be read: %s", describe_outage(exc))
        return False


PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "healthz": healthz,
    "readyz": readyz,
    **readiness.added_probes(),
}


def probe_of(path: str) -> Callable[[HttpRequest], HttpResponse] | None:
    """Return the view of the probe at a path, wherever the project has mounted the app; None for all other paths."""
    view = PROBES.get(path.rpartition("/")[2])
    if view is None:
        return None
    match = addresses.find(path)
    return view if match is not None and match.func is view else None


async def answer_probe(probe: Callable[[HttpRequest], HttpResponse], request: HttpRequest) -> HttpResponse:
    """Return a probe's answer from the event loop, that of `readyz` however long the database takes."""
    view: Callable[[HttpRequest], Awaitable[HttpResponse]]
    view = _readyz_in_time if probe is readyz else sync_to_async(probe)
    return await view(request)


@sync_and_async_middleware
def answer_probes(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that answers probes before all others, because probes send no valid host name and use plain HTTP."""

    def middleware(request: HttpRequest) -> Any:
        probe = probe_of(request.path_info)
        return probe(request) if probe else get_response(request)

    async def async_middleware(request: HttpRequest) -> Any:
        probe = probe_of(request.path_info)
        return await (answer_probe(probe, request) if probe else get_response(request))

    return async_middleware if iscoroutinefunction(get_response) else middleware
