"""The hosts of the matrix: what each installs, and how its project is made."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
CRM = HERE.parent / "host_project/crm"
# Where the template of cookiecutter-django is: a clone, or what `cookiecutter` takes.
TEMPLATE = os.environ.get("COOKIECUTTER_DJANGO", "gh:cookiecutter/cookiecutter-django")


@dataclass(frozen=True)
class Host:
    """One project.

    Args:
        title: What README calls it.
        python: The version of Python, such as "3.13".
        packages: What is installed beside the assistant, as pip takes it.
        settings: The settings module.
        application: The ASGI application, as uvicorn takes it.
        versions: The packages whose installed versions are told.
        needs_postgresql: Whether it has a database of its own there, in `DATABASE_URL`; else it has SQLite.
        make: Writes the project into a folder, with the path of uv.
        requirements: Files of the project with what it installs.
        unmigrated: Its apps whose migrations are made on the spot.
        people: The script that makes tenants and people.
        proofs: Scripts that show what only this host has; each gets the server's origin.
    """

    title: str
    python: str
    packages: tuple[str, ...]
    settings: str
    application: str = "site_asgi:application"
    versions: tuple[str, ...] = ()
    needs_postgresql: bool = False
    make: Callable[[Path, str], None] = field(default=lambda folder, uv: copy_crm(folder))
    requirements: tuple[str, ...] = ()
    unmigrated: tuple[str, ...] = ()
    people: str = "crm_people.py"
    proofs: tuple[str, ...] = ("crm_proof.py",)


def copy_crm(folder: Path) -> None:
    """Write the project that `tests/host_project` has, and the hosts' settings on top."""
    shutil.copytree(CRM, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "tests.py"))
    shutil.copytree(HERE / "project", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def generate(folder: Path, uv: str) -> None:
    """Write the project that cookiecutter-django makes today, and add accounts and the assistant to it."""
    answers = {
        "project_slug": "shop", "username_type": "email", "rest_api": "DRF", "use_async": "y", "use_celery": "y",
        "use_whitenoise": "y", "cloud_provider": "None", "mail_service": "Other SMTP", "keep_local_envs_in_vcs": "n",
    }  # fmt: skip
    made = folder.parent / "shop"
    shutil.rmtree(made, ignore_errors=True)
    # Its last step has uv write the requirements into a lock for Python 3.14, and removes them. Here they are kept.
    stand_ins = folder.parent / "stand_ins"
    stand_ins.mkdir(exist_ok=True)
    (stand_ins / "uv").write_text("#!/bin/sh\ncp -r requirements asked 2>/dev/null || true\n")
    (stand_ins / "uv").chmod(0o755)
    command = [uv, "tool", "run", "cookiecutter", TEMPLATE, "--no-input", "--output-dir", str(folder.parent)]
    subprocess.run(
        [*command, *(f"{name}={value}" for name, value in answers.items())], check=True, timeout=300,
        env={**os.environ, "PATH": f"{stand_ins}:{os.environ['PATH']}"}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    made.rename(folder)
    shutil.copytree(CRM / "accounts", folder / "accounts", ignore=shutil.ignore_patterns("__pycache__", "tests.py"))
    shutil.copy(HERE / "project/crm_people.py", folder)
    shutil.copy(HERE / "project/with_assistant.py", folder / "config/settings")
    added = {
        "urls": 'urlpatterns += [path("assistant/panel/", include("assistant.contrib.panel.panel_urls"))]\n'
        'urlpatterns += [path("assistant/", include("assistant.urls"))]\n',
        "asgi": "from assistant.routing import with_assistant\n\napplication = with_assistant(application)\n",
    }
    for name, lines in added.items():
        with (folder / f"config/{name}.py").open("a") as file:
            file.write(f"\n{lines}")


HOSTS: Mapping[str, Host] = {
    "django-5.2": Host(
        "Django 5.2, users with UUID keys, `ATOMIC_REQUESTS`", "3.11", ("django>=5.2,<5.3",), "matrix_settings",
    ),
    "django-6.1": Host("Django 6.1, the same", "3.13", ("django>=6.1,<6.2",), "matrix_settings"),
    "i18n-patterns": Host(
        "`i18n_patterns`, APIs mounted apart, `ATOMIC_REQUESTS`", "3.13", ("django>=6.1,<6.2",), "i18n_settings",
    ),
    "websockets": Host(
        "A project with websockets of its own (Channels)", "3.13", ("channels",), "websockets_settings",
        "websockets_asgi:application", ("channels",), proofs=("websockets_proof.py",),
    ),
    "unfold": Host("django-unfold", "3.13", ("django-unfold",), "unfold_settings", versions=("django-unfold",)),
    "jazzmin": Host("django-jazzmin", "3.13", ("django-jazzmin",), "jazzmin_settings", versions=("django-jazzmin",)),
    "wagtail": Host("Wagtail", "3.13", ("wagtail",), "wagtail_settings", versions=("wagtail",)),
    "django-tenants": Host(
        "django-tenants, a schema for each tenant", "3.13", ("django-tenants",), "tenants_settings",
        versions=("django-tenants",), needs_postgresql=True, people="firms_people.py",
        unmigrated=("firms", "stock"), proofs=("tenants_proof.py",),
    ),
    "cookiecutter-django": Host(
        "cookiecutter-django, as its template makes it", "3.13", (), "config.settings.with_assistant",
        "config.asgi:application", ("django-allauth", "celery"), needs_postgresql=True, make=generate,
        requirements=("asked/base.txt", "asked/local.txt"), proofs=(),
    ),
}  # fmt: skip
