"""`manage.py assistant_local_model`: fetches the embedded language model, serves it, or shows its status."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from assistant.contrib.local_model.warm_up_requests import likely_requests
from assistant.management.operator import OperatorCommand
from assistant.providers.embedded.fetch import fetch
from assistant.providers.embedded.prefill import READ_AHEAD
from assistant.providers.embedded.progress_bar import ProgressBar
from assistant.providers.embedded.readiness import health
from assistant.providers.embedded.server import DEFAULT_PORT
from assistant.providers.embedded.weights import MODEL_NAME, WeightsError, cache_directory, find


class Command(OperatorCommand):
    help = "Fetch or serve the embedded language model, or show its status."
    # Works without a database, too.
    requires_system_checks: list[str] = []
    works_on_tenants = False

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("fetch", help="Fetch the weights (1.1 GB) unless they are there, and check them.")
        serve = actions.add_parser("serve", help="Serve the model on 127.0.0.1, OpenAI-compatible.")
        serve.add_argument("--port", type=int, default=DEFAULT_PORT)
        serve.add_argument("--until-stdin-closes", action="store_true", help="End when standard input does.")
        serve.add_argument("--no-read-ahead", action="store_true", help="Do not read the assistants' tools yet.")
        status = actions.add_parser("status", help="Say whether it is fetched and running; exits 1 if not running.")
        status.add_argument(
            "--port", type=int, help="Where it would run; default: where ASSISTANT_LOCAL_MODEL_URL says."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            match options["action"]:
                case "fetch":
                    self.stdout.write(f"The weights are in {self._fetch()}")
                case "serve":
                    self._serve(options)
                case _:
                    self._status(options["port"])
        except WeightsError as exc:
            raise CommandError(str(exc)) from exc

    def _fetch(self) -> Path:
        return fetch(ProgressBar(self.stdout), path=settings.ASSISTANT_LOCAL_MODEL_PATH)

    def _serve(self, options: dict[str, Any]) -> None:
        # Imported here, because it loads a library of 100 MB.
        from assistant.providers.embedded.supervisor import serve

        port = options["port"]
        weights = self._fetch()
        self.stdout.write(f"Loading {MODEL_NAME}; it will answer on http://127.0.0.1:{port}/v1")
        self.stdout.flush()
        expected = [] if options["no_read_ahead"] else likely_requests(count=READ_AHEAD)
        states = cache_directory() / "states"
        try:
            serve(
                weights, port=port, expected=expected, states=states, until_stdin_closes=options["until_stdin_closes"]
            )
        except RuntimeError as exc:
            raise CommandError(f"The server did not start on port {port}; is the port in use? ({exc})") from exc

    def _status(self, port: int | None) -> None:
        try:
            weights = find(path=settings.ASSISTANT_LOCAL_MODEL_PATH)
        except WeightsError as exc:
            self.stdout.write(f"weights: {exc}")
        else:
            self.stdout.write(f"weights: {weights or 'not fetched'}")
        default = settings.ASSISTANT_LOCAL_MODEL_URL or f"http://127.0.0.1:{DEFAULT_PORT}"
        url = f"http://127.0.0.1:{port}" if port else default
        state = asyncio.run(health(url))
        words = {"ready": "ready", "loading": "loading", "absent": "not running"}[state]
        self.stdout.write(f"server: {words}, {url}")
        self.stdout.write(f"model: {MODEL_NAME}")
        if state == "absent":
            sys.exit(1)
