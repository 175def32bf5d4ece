"""`manage.py assistant_deploy_files`: writes files for a proxy, systemd, Compose and Kubernetes, for this project."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.urls import NoReverseMatch

from assistant.contrib.deploy.files import deployment_files
from assistant.contrib.deploy.plan import (
    DeploymentPlan,
    api_mounts,
    asgi_application,
    page_mounts,
    settings_module,
    upload_paths,
)
from assistant.management.operator import OperatorCommand
from assistant.staticfiles import has_whitenoise

# Only characters that are safe in the generated files, some of which root executes.
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*", re.IGNORECASE)
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_PATH = re.compile(r"/[\w./+-]*", re.ASCII)


def _matching(pattern: re.Pattern[str], what: str) -> Any:
    def read(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ArgumentTypeError(f"{text!r} is not {what}")
        return text

    return read


def _ports(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d{1,5}(,\d{1,5})*", text) or not all(0 < int(port) < 65536 for port in text.split(",")):
        raise ArgumentTypeError(f"{text!r} is not a list of ports such as 8001,8002")
    return tuple(int(port) for port in text.split(","))


class Command(OperatorCommand):
    works_on_tenants = False
    help = "Write files for nginx, Caddy, systemd, Docker Compose and Kubernetes, for this project."

    def add_arguments(self, parser: CommandParser) -> None:
        path = _matching(_PATH, "an absolute path of letters, digits and ./+-_")
        name = _matching(_NAME, "a name of lowercase letters, digits, - and _")
        parser.add_argument("host", type=_matching(_HOST, "a host name"), help="the public name: assistant.example.com")
        parser.add_argument("--folder", default="deploy", help="where to write them (default: deploy)")
        parser.add_argument("--name", type=name, help="the service's name (default: the project's)")
        parser.add_argument("--user", type=name, help="the account of the processes (default: the service's name)")
        parser.add_argument("--directory", type=path, help="where the project will be (default: /srv/NAME)")
        parser.add_argument("--ports", type=_ports, default=(8001, 8002), help="one for each process: 8001,8002")
        parser.add_argument("--listen", type=int, default=443, help="the proxy's port (default: 443)")
        parser.add_argument("--certificate", type=path, help="nginx's (default: /etc/ssl/NAME.pem)")
        parser.add_argument("--certificate-key", type=path, help="nginx's (default: /etc/ssl/NAME.key)")
        parser.add_argument("--overwrite", action="store_true", help="replace files that are there")

    def handle(self, *args: Any, host: str, folder: str, overwrite: bool, **options: Any) -> None:
        place = Path(folder).resolve()
        files = deployment_files(self._plan(host, place, options))
        present = [name for name in files if (place / name).exists()]
        if present and not overwrite:
            raise CommandError(f"There are files in {folder} already: {', '.join(present)}. See --overwrite.")
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (place / name).write_text(text)
            self.stdout.write(f"{folder}/{name}")

    def _plan(self, host: str, folder: Path, options: dict[str, Any]) -> DeploymentPlan:
        module = settings_module()
        name = options["name"] or re.sub(r"[^a-z0-9_-]", "-", module.partition(".")[0].lower()) or "site"
        has_static = bool(settings.STATIC_ROOT) and str(settings.STATIC_URL).startswith("/") and not has_whitenoise()
        try:
            mounts = api_mounts()
            pages = page_mounts()
        except NoReverseMatch:
            raise CommandError(
                'No URL leads to the assistant: path("assistant/", include("assistant.urls")).'
            ) from None
        return DeploymentPlan(
            host=host,
            name=name,
            title=name,
            directory=options["directory"] or f"/srv/{name}",
            user=options["user"] or name,
            env_file=f"/etc/{name}/env",
            ports=options["ports"],
            asgi=asgi_application(),
            settings_module=module,
            environment=f"DJANGO_SETTINGS_MODULE={module}",
            server_environment=f"DJANGO_SETTINGS_MODULE={module}",
            folder=folder,
            project=Path.cwd(),
            listen=options["listen"],
            certificate=options["certificate"] or f"/etc/ssl/{name}.pem",
            certificate_key=options["certificate_key"] or f"/etc/ssl/{name}.key",
            mounts=mounts,
            pages=pages,
            uploads=upload_paths(),
            static_url=str(settings.STATIC_URL) if has_static else "",
            static_root=str(settings.STATIC_ROOT) if has_static else "",
        )
