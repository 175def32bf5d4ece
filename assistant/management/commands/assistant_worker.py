"""`manage.py assistant_worker`: works on queued runs and on background jobs, until it is asked to end."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from assistant.core.values.frame_sizes import HTTP_PROTOCOL
from assistant.management.operator import OperatorCommand
from assistant.services.roles import WORKER
from assistant.services.runs.manager import get_runs

# How long a worker that is asked to end waits for its runs; its service manager has to wait longer.
DRAIN_SECONDS = 60


class Command(OperatorCommand):
    works_on_tenants = False
    help = "Work on queued runs and background jobs (ASSISTANT_ROLE=worker). SIGTERM ends it, after its runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runs", type=int, help="how many runs at once (default: ASSISTANT_MAX_RUNS)")
        parser.add_argument(
            "--drain", type=int, default=DRAIN_SECONDS, help="seconds that it waits for them at the end"
        )
        parser.add_argument("--host", default="127.0.0.1", help="where /healthz, /readyz and /metrics are served")
        parser.add_argument("--port", type=int, default=8090, help="and on which port")

    def handle(self, *args: Any, runs: int | None, drain: int, host: str, port: int, **options: Any) -> None:
        if settings.ASSISTANT_ROLE != WORKER:
            raise CommandError(
                "Set ASSISTANT_ROLE=worker for this process, and ASSISTANT_ROLE=web for those of the web."
            )
        if runs is not None and runs < 1:
            raise CommandError("--runs must be 1 or more.")
        config = uvicorn.Config(
            "assistant.asgi.worker:application",
            host=host,
            port=port,
            http=HTTP_PROTOCOL,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
        )

        async def work() -> None:
            process = get_runs()
            process.queue.room, process.drain_seconds = runs, float(drain)
            await uvicorn.Server(config).serve()

        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(work())
