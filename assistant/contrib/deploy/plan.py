"""What a project's deployment files are about: its names and addresses, as its settings and URLs have them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib import admin
from django.urls import NoReverseMatch, get_script_prefix, reverse

from assistant.asgi.json_apis import apis
from assistant.services import addresses
from assistant.uploads import has_file_field


@dataclass(frozen=True, kw_only=True)
class DeploymentPlan:
    """The names and addresses of a deployment.

    Args:
        host: the public name.
        name: the service's name, which is also in file names.
        title: the same for people.
        directory: where the project is, with its environment in `.venv`.
        user: the account that the processes run as.
        ports: one for each process.
        asgi, settings_module: dotted names.
        environment: variables of all commands, beside those in `env_file`; `server_environment`: of the servers.
        folder: where the files are written; `project`: the folder of `manage.py`.
        listen: the proxy's port; `certificate` and `certificate_key` are nginx's.
        mounts: below which the assistant's APIs, websockets and probes are, such as `/assistant/`; in each language, if
            the project has mounted them so. The first is asked for health.
        pages: below which its pages are.
        uploads: beginnings of paths where files are uploaded.
        static_url, static_root: set if the proxy serves collected files.
    """

    host: str
    name: str
    title: str
    directory: str
    user: str
    env_file: str
    ports: tuple[int, ...]
    asgi: str
    settings_module: str
    environment: str
    server_environment: str
    folder: Path
    project: Path
    listen: int
    certificate: str
    certificate_key: str
    mounts: tuple[str, ...]
    pages: tuple[str, ...]
    uploads: tuple[str, ...]
    static_url: str = ""
    static_root: str = ""


def settings_module() -> str:
    return os.environ.get("DJANGO_SETTINGS_MODULE", "")


def asgi_application() -> str:
    """Return the ASGI application as `module:name`: ASGI_APPLICATION, or where `startproject` puts it."""
    given = getattr(settings, "ASGI_APPLICATION", None)
    if given:
        module, _, name = str(given).rpartition(".")
        return f"{module}:{name}"
    package = settings_module().rpartition(".")[0]
    return f"{package}.asgi:application" if package else "asgi:application"


def api_mounts() -> tuple[str, ...]:
    """Return below what the project has mounted the APIs, websockets and probes, in each language.

    Raises:
        NoReverseMatch: nowhere.
    """
    return _public(addresses.api_mounts())


def page_mounts() -> tuple[str, ...]:
    """Return below what the project has mounted the pages, in each language. Raises `NoReverseMatch`: nowhere."""
    return _public(addresses.page_mounts())


def _public(mounts: tuple[str, ...]) -> tuple[str, ...]:
    """Return paths as a proxy gets them."""
    if not mounts:
        raise NoReverseMatch("No URL leads to the assistant.")
    return tuple(get_script_prefix().rstrip("/") + mount for mount in mounts)


def upload_paths() -> tuple[str, ...]:
    """Return the beginnings of paths where files are uploaded, in which a `*` is any one part.

    These are addresses of the installed APIs, ASSISTANT_UPLOAD_PATHS, and admin forms with files.
    """
    of_apis = (f"{mount}{address}" for mount in api_mounts() for api in apis() for address in api.uploads)
    return (*of_apis, *_admin_forms_with_files(), *settings.ASSISTANT_UPLOAD_PATHS)


def _admin_forms_with_files() -> Iterator[str]:
    admin.site.get_urls()  # the control panel registers its pages with its addresses
    for model, page in admin.site._registry.items():
        if has_file_field(page):
            try:
                yield reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            except NoReverseMatch:
                return
