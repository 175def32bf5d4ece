"""What a project is made of: its own apps, and the files with its settings, addresses and ASGI application."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.conf import global_settings, settings
from django.contrib.auth import get_user_model
from django.urls import NoReverseMatch, get_resolver, resolve, reverse
from django.urls.exceptions import Resolver404
from django.urls.resolvers import LocalePrefixPattern, RoutePattern

from assistant import optional_apps

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_NAMES = ("SITE_NAME", "PROJECT_NAME", "APP_NAME", "PRODUCT_NAME", "WAGTAIL_SITE_NAME")
_THEMES = ("unfold", "jazzmin", "grappelli", "suit", "jet", "admin_interface", "baton", "daisy")


@dataclass(frozen=True, slots=True)
class Project:
    """A project's files, and what of it decides how the assistant is added.

    Attributes:
        folder: where `manage.py` is.
        settings_file: the file that assigns INSTALLED_APPS.
        asgi_file: the file with the ASGI application; None if there is none.
        asgi_name: the name of the application in it.
        has_language_prefixes: whether addresses begin with a language (`i18n_patterns`).
        prefixes_default_language: whether those of the default language do; Django asks the first `i18n_patterns`.
        has_admin: whether Django's admin is installed and mounted.
    """

    folder: Path
    settings_file: Path
    urls_file: Path
    asgi_file: Path | None
    asgi_name: str
    mount: str
    has_language_prefixes: bool
    prefixes_default_language: bool
    has_admin: bool

    @property
    def name(self) -> str:
        """What the project is called in texts: by its settings, else by `pyproject.toml`, else by its folder."""
        if named := next((text for name in _NAMES if isinstance(text := getattr(settings, name, None), str)), ""):
            return named
        words = re.split(r"[\W_]+", _packaged_name(self.folder) or self.folder.name)
        return " ".join(word for word in words if word).title()


class CannotRead(Exception):
    """The project is not laid out in a way that can be written to; the message says what is missing."""


def read_project() -> Project:
    """Return what the project of these settings is made of.

    Raises:
        CannotRead: its settings or addresses are in no file of the project.
    """
    settings_module = _file_of(settings.SETTINGS_MODULE)
    urls_file = _file_of(settings.ROOT_URLCONF)
    if settings_module is None or urls_file is None:
        raise CannotRead("The settings or the addresses of this project are in no file.")
    folder = _folder(settings_module)
    asgi_file, asgi_name = _asgi(urls_file)
    patterns = get_resolver().url_patterns
    prefixes = [one.pattern for one in patterns if isinstance(one.pattern, LocalePrefixPattern)]
    return Project(
        folder=folder,
        settings_file=_assigning_file(settings_module, "INSTALLED_APPS", folder) or settings_module,
        urls_file=urls_file,
        asgi_file=asgi_file,
        asgi_name=asgi_name,
        mount=_free_mount(patterns),
        has_language_prefixes=bool(prefixes),
        prefixes_default_language=all(one.prefix_default_language for one in prefixes),
        has_admin=_has_admin(),
    )


def own_apps(project: Project) -> list[AppConfig]:
    """Return the apps in the project's folder, in the order of INSTALLED_APPS."""
    ours = optional_apps.labels()
    return [
        app for app in apps.get_app_configs() if app.label not in ours and _is_within(Path(app.path), project.folder)
    ]


def own_models(project: Project) -> Iterator[Any]:
    """Yield the models of the project's own apps that have tables of their own, without the user model."""
    for app in own_apps(project):
        for model in app.get_models():
            if not model._meta.proxy and not model._meta.swapped and model is not get_user_model():
                yield model


def notes(project: Project) -> Iterator[str]:
    """Yield what a developer should know of how this project and the assistant meet."""
    database = settings.DATABASES["default"]
    if database.get("ATOMIC_REQUESTS"):
        yield "ATOMIC_REQUESTS stays as it is: the assistant's views handle their transactions themselves."
    if "postgresql" in database["ENGINE"]:
        yield (
            "PostgreSQL can protect your tables, too, with assistant.contrib.row_level_security: manage.py "
            "assistant_row_level_security install --role ROLE --host-tables (docs/saas.md)."
        )
    if theme := next(
        (name for name in _THEMES if any(app.split(".")[0] == name for app in settings.INSTALLED_APPS)), ""
    ):
        yield f"The admin has the theme {theme}: the control panel keeps its own look on its own pages."
    if "rest_framework" in settings.INSTALLED_APPS:
        yield "Django REST framework is installed: its settings stay yours; the assistant's API has its own."
    if project.asgi_file is None:
        yield "No ASGI application was found: without one, chats have no websocket (docs/saas.md)."
    if not project.has_admin:
        yield "Django's admin is not mounted: the control panel is left out; use manage.py assistant_reach."


def celery_broker() -> str:
    """Return the name of the setting with Celery's broker, if it is Redis and its package is there, else ""."""
    if find_spec("redis") is None:
        return ""
    for name in ("CELERY_BROKER_URL", "BROKER_URL"):
        if str(getattr(settings, name, "")).startswith(("redis://", "rediss://")):
            return name
    return ""


def uses_sqlite_without_immediate() -> bool:
    """Whether the database is SQLite and its transactions are not immediate."""
    database = settings.DATABASES["default"]
    options = database.get("OPTIONS") or {}
    return "sqlite3" in database["ENGINE"] and options.get("transaction_mode") != "IMMEDIATE"


def needs_sign_in_page() -> bool:
    """Whether LOGIN_URL is Django's default, and leads nowhere in this project."""
    if settings.LOGIN_URL != global_settings.LOGIN_URL:
        return False
    try:
        reverse("login")
    except NoReverseMatch:
        pass
    else:
        return False
    try:
        resolve(settings.LOGIN_URL)
    except Resolver404:
        return True
    # A route for everything, such as a CMS's, is no page for signing in.
    return not any(str(one.pattern).startswith("accounts/") for one in get_resolver().url_patterns)


def _packaged_name(folder: Path) -> str:
    """Return the name that `pyproject.toml` gives, beside `manage.py` or a folder above it; "" if none does."""
    for file in (folder / "pyproject.toml", folder.parent / "pyproject.toml"):
        try:
            return str(tomllib.loads(file.read_text(encoding="utf-8"))["project"]["name"])
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return ""


def named_apps(settings_text: str) -> set[str]:
    """Return the texts in a settings module's statements about lists of apps (`INSTALLED_APPS`, `LOCAL_APPS`, ...).

    Elsewhere the name of an app may be a word of the project's, such as a role "assistant".
    """
    statements = (node for node in ast.walk(ast.parse(settings_text)) if isinstance(node, _SIMPLE))
    return {
        node.value
        for statement in statements
        if any(isinstance(node, ast.Name) and node.id.endswith("APPS") for node in ast.walk(statement))
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _file_of(module: str) -> Path | None:
    spec = find_spec(module)
    return None if spec is None or spec.origin is None else Path(spec.origin).resolve()


def _folder(settings_module: Path) -> Path:
    for folder in settings_module.parents:
        if (folder / "manage.py").is_file():
            return folder
    raise CannotRead(f"There is no manage.py above {settings_module}.")


def _is_within(path: Path, folder: Path) -> bool:
    resolved = path.resolve()
    return resolved.is_relative_to(folder) and not any(
        part in ("site-packages", "dist-packages", "node_modules") for part in resolved.parts
    )


def _assigning_file(file: Path, name: str, folder: Path, depth: int = 5) -> Path | None:
    """Return the file that assigns a name, among a module of settings and those whose names it imports by `*`."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return file
    if not depth:
        return None
    for node in reversed(tree.body):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            base = file.parents[node.level - 1] if node.level else None
            for imported in _files_named(node.module or "", base):
                if _is_within(imported, folder) and (found := _assigning_file(imported, name, folder, depth - 1)):
                    return found
    return None


def _files_named(module: str, base: Path | None) -> Iterator[Path]:
    roots = [base] if base is not None else [Path(entry or ".").resolve() for entry in sys.path]
    for root in roots:
        path = root.joinpath(*module.split(".")) if module else root
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                yield file


def _asgi(urls_file: Path) -> tuple[Path | None, str]:
    module, _, name = (getattr(settings, "ASGI_APPLICATION", None) or "").rpartition(".")
    if module and (file := _file_of(module)) is not None:
        return file, name
    beside = urls_file.parent / "asgi.py"
    return (beside if beside.is_file() else None), "application"


def _free_mount(patterns: list[Any]) -> str:
    routes = [str(one.pattern) for one in patterns if isinstance(one.pattern, RoutePattern)]
    ours = ("assistant.urls", "assistant.api_urls", "assistant.page_urls")
    names = [str(getattr(one, "urlconf_name", "")) for one in patterns]
    taken = [
        route
        for route, name in zip([str(one.pattern) for one in patterns], names, strict=True)
        if route in routes and not any(own in name for own in ours)
    ]
    return next(mount for mount in ("assistant/", "ai-assistant/", "tenant-assistant/") if mount not in taken)


def _has_admin() -> bool:
    if not apps.is_installed("django.contrib.admin"):
        return False
    try:
        reverse("admin:index")
    except NoReverseMatch:
        return False
    return True
