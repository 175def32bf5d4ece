"""The ASGI application of a worker process (`manage.py assistant_worker`): its probes and metrics, and nothing else."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from assistant.asgi.lifespan import lifespan
from assistant.asgi.probes import with_probes
from assistant.asgi.refusals import Receive, Send
from assistant.services.jobs import jobs
from assistant.services.privacy import daily_retention  # noqa: F401 - registers its job
from assistant.services.tenancy.row_scope import set_tenants

jobs.import_handlers()


async def _not_found(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


_http = with_probes(_not_found)


async def application(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    """Serve one request, or the lifespan, with which the work begins and ends."""
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
    else:
        set_tenants()
        await _http(scope, receive, send)
