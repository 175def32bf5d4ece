"""`manage.py assistant_demo`: migrates, loads the demo tenants, starts the embedded model and serves them."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import uvicorn
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import connection
from django.views import debug
from django.views.defaults import page_not_found

from assistant.contrib.demo.tenants import SignIn, load_demo_tenants
from assistant.core.values.frame_sizes import HTTP_PROTOCOL, MAX_SERVER_FRAME
from assistant.management.operator import OperatorCommand
from assistant.models import Assistant
from assistant.providers.embedded import start_server
from assistant.providers.embedded.fetch import fetch
from assistant.providers.embedded.progress_bar import ProgressBar
from assistant.providers.embedded.weights import WeightsError
from assistant.services.assistants.provider_choice import describe_provider
from assistant.services.db.old_database import MESSAGE as OLD_DATABASE
from assistant.services.db.old_database import is_old_database

HOST = "127.0.0.1"
# Folders of a checkout whose changes `--reload` follows, as far as a project has them.
WATCHED = ("assistant", "config", "templates", "tools")


class Command(OperatorCommand):
    help = "Serve the demo on 127.0.0.1; safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--model",
            choices=("embedded", "none"),
            default=os.environ.get("MODEL") or "embedded",
            help="Who answers if no provider is configured: the embedded model (1.1 GB, fetched once) or a stand-in.",
        )

        parser.add_argument(
            "--reload", action="store_true", help="Start the server again when code, tools or templates change."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["model"] not in ("embedded", "none"):
            raise CommandError("The environment variable MODEL is either empty, embedded or none.")
        if not getattr(settings, "ASGI_APPLICATION", None):
            raise CommandError("Set ASGI_APPLICATION to the dotted name of the project's application.")
        _check_port(options["port"])
        self._prepare_database()
        try:
            sign_ins = load_demo_tenants()
        except ImproperlyConfigured as exc:
            raise CommandError(str(exc)) from exc
        with ExitStack() as running:
            if options["model"] == "embedded" and not _has_provider():
                self._start_model(running)
            use_own_not_found_page()
            self._greet(options["port"], sign_ins)
            # A line for each request would scroll the sign-ins away.
            logging.getLogger("assistant.asgi.access_log").setLevel(logging.WARNING)
            uvicorn.run(
                ":".join(settings.ASGI_APPLICATION.rsplit(".", 1)),
                host=HOST,
                port=options["port"],
                http=HTTP_PROTOCOL,
                ws="websockets-sansio",
                ws_max_size=MAX_SERVER_FRAME,
                ws_per_message_deflate=False,
                log_level="warning",
                reload=options["reload"],
                reload_dirs=[str(folder) for folder in _watched()] if options["reload"] else None,
                reload_includes=["*.html"] if options["reload"] else None,
            )

    def _prepare_database(self) -> None:
        if is_old_database():
            self._save_old_database()
        call_command("migrate", verbosity=0, interactive=False)

    def _save_old_database(self) -> None:
        """Rename an SQLite database from before 0.2.0, so that the demo begins with an empty one."""
        if connection.vendor != "sqlite":
            raise CommandError(OLD_DATABASE)
        connection.close()
        path = Path(connection.settings_dict["NAME"])
        saved = path.with_name(f"{path.name}.before-0.2.0")
        for suffix in ("", "-wal", "-shm"):
            if Path(f"{path}{suffix}").exists():
                Path(f"{path}{suffix}").replace(f"{saved}{suffix}")
        self.stdout.write(f"The database was made before version 0.2.0. It is kept as {saved.name}; a new one is made.")

    def _start_model(self, running: ExitStack) -> None:
        """Fetch and start the embedded model; without it the stand-in answers."""
        if find_spec("xllamacpp") is None:
            self.stderr.write(
                "The embedded model's engine is not installed (pip install 'tenant-assistant[local-model]'); "
                "a stand-in answers."
            )
            return
        try:
            fetch(ProgressBar(self.stdout), path=settings.ASSISTANT_LOCAL_MODEL_PATH)
        except WeightsError as exc:
            self.stderr.write(f"{exc}\nGoing on without a language model.")
            return
        settings.ASSISTANT_LOCAL_MODEL_URL = running.enter_context(start_server()).base_url
        # For the processes that `--reload` starts one after the other; the model goes on running.
        os.environ["ASSISTANT_LOCAL_MODEL_URL"] = settings.ASSISTANT_LOCAL_MODEL_URL

    def _greet(self, port: int, sign_ins: list[SignIn]) -> None:
        assistant = (
            Assistant.objects.select_related("provider", "tenant", "tenant__default_provider")
            .filter(tenant__slug="acme", slug="support")
            .get()
        )
        width = max(len(entry.username) for entry in sign_ins)
        lines = [
            "",
            f"  Chat     http://{HOST}:{port}/",
            f"  Admin    http://{HOST}:{port}/admin/",
            f"  Answers  {describe_provider(assistant)}",
            "",
            "  Sign in as",
            *(f"    {entry.username:{width}}  {entry.password:{width + 10}}  {entry.who}" for entry in sign_ins),
            "",
            '  Ask "tell me about customer 42" as alice and as mallory. Ctrl-C ends the demo.',
        ]
        self.stdout.write("\n".join(lines))
        self.stdout.flush()


def use_own_not_found_page() -> None:
    """Show this process's visitors the site's own page for 404, although DEBUG is true for the sake of the demo."""
    debug.technical_404_response = page_not_found


def _watched() -> list[Path]:
    """Return the folders whose changes are followed."""
    return [folder for name in WATCHED if (folder := Path(settings.BASE_DIR) / name).is_dir()]


def _has_provider() -> bool:
    return bool(settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL or settings.ASSISTANT_LOCAL_MODEL_URL)


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as exc:
            raise CommandError(f"Port {port} is not free on {HOST}; choose another with --port.") from exc
