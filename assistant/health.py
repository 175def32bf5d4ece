"""What load balancers and orchestrators ask: is the process alive, and is it ready for visitors."""

from __future__ import annotations

import logging

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)

REDIS_SECONDS = 2.0


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers, whatever it depends on."""
    return JsonResponse({"status": "alive"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 if all that a visitor needs is there, else 503; says which part is missing, and nothing more."""
    checks = {"database": _database(), "migrations": _migrations()}
    if settings.REDIS_URL:
        checks["redis"] = _redis()
    is_ready = all(checks.values())
    body = {
        "status": "ready" if is_ready else "not ready",
        "checks": {name: "ok" if passed else "failed" for name, passed in checks.items()},
    }
    return JsonResponse(body, status=200 if is_ready else 503)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        logger.exception("The database does not answer")
        return False
    return True


def _migrations() -> bool:
    try:
        executor = MigrationExecutor(connection)
        return not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        logger.exception("The database does not say which migrations it has")
        return False


def _redis() -> bool:
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
        ) as client:
            return bool(client.ping())
    except redis.RedisError:
        logger.exception("Redis does not answer")
        return False
