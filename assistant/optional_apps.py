"""What a deployment can do without: apps under `assistant.contrib`, which are there if INSTALLED_APPS names them.

The core never imports one. An app says by its modules what it adds (`defaults`, `urls`), and by what its `register`
hands to registries, such as `assistant.asgi.mounts`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from zoneinfo import available_timezones

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models import Model
from django.urls import URLPattern, URLResolver
from django.utils.module_loading import module_has_submodule

from assistant import defaults
from assistant.environment import Environment, sentences
from assistant.toolkit.lazy_module import is_there

_FOLDER = Path(__file__).resolve().parent / "contrib"
_registered: set[str] = set()


class OptionalApp(AppConfig):
    """The base of an optional app's configuration: it adds the app's settings.

    Attributes:
        problems: a sentence for each wrong variable and wrong setting of the app.
        for_programs: what the paths of its views begin with whose texts are for programs, not for people.
        enum_names: names of choices in the OpenAPI schema, and the dotted names of the choices.
    """

    enum_names: Mapping[str, str] = {}

    default_auto_field = "django.db.models.BigAutoField"
    # The packages that the app needs besides the core's: the extra of each by the name of its module.
    packages: Mapping[str, str] = {}
    # Django looks in an app's `apps` module, which imports this class, for the one configuration to use.
    default = False
    for_programs: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.default = True

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        super().__init__(app_name, app_module)
        self.problems: list[str] = []
        if self.has("defaults"):
            own = import_module(f"{self.name}.defaults")
            environment: Environment = own.ENVIRONMENT
            values, problems = environment.settled({name: getattr(own, name) for name in own.__all__}, settings)
            for name, value in values.items():
                setattr(settings, name, value)
            self.problems = sentences(environment.problems, problems)

    def ready(self) -> None:
        """Have the app register what it adds, once in a process.

        Django calls this anew whenever INSTALLED_APPS is overridden, and registries outlive that.
        """
        if self.name not in _registered:
            _registered.add(self.name)
            self.register()

    def register(self) -> None:
        """Hand what the app adds to registries, and connect its signals and checks."""

    def has(self, module: str) -> bool:
        """Return whether the app has a module of this name, without importing it."""
        return find_spec(f"{self.name}.{module}") is not None


def installed() -> Iterator[OptionalApp]:
    """Yield the optional apps that are installed, in their order in INSTALLED_APPS."""
    return (app for app in apps.get_app_configs() if isinstance(app, OptionalApp))


def labels() -> frozenset[str]:
    """Return the labels of the core and of the installed optional apps: what is not a project's own."""
    return frozenset(("assistant", *(app.label for app in installed())))


def own_models() -> Iterator[type[Model]]:
    """Yield the models of the core and of the installed optional apps."""
    for label in ("assistant", *(app.label for app in installed())):
        yield from apps.get_app_config(label).get_models()


def own_model(name: str) -> type[Model] | None:
    """Return the model of the core, or of an installed optional app, that has a name; None if there is none."""
    return next((model for model in own_models() if model._meta.model_name == name), None)


@cache
def library_modules() -> dict[str, str]:
    """Return the tool families of the installed optional apps: the modules of their packages `library`, by name."""
    packages = (import_module(f"{app.name}.library") for app in installed() if app.has("library"))
    return {
        module.name: f"{package.__name__}.{module.name}"
        for package in packages
        for module in pkgutil.iter_modules(package.__path__)
    }


def absent_families() -> dict[str, str]:
    """Return the tool families of the optional apps that are not installed: the app of each by its name."""
    return {
        path.stem: f"assistant.contrib.{path.parent.parent.name}"
        for path in _FOLDER.glob("*/library/[a-z]*.py")
        if not apps.is_installed(f"assistant.contrib.{path.parent.parent.name}")
    }


def urlpatterns() -> list[URLPattern | URLResolver]:
    """Return the addresses of all installed optional apps, for `assistant.urls`: they lie below the same mount."""
    modules = [import_module(f"{app.name}.urls") for app in installed() if app.has("urls")]
    return [entry for module in modules for entry in module.urlpatterns]


@cache
def paths_for_programs() -> tuple[str, ...]:
    """Return what the paths of the installed apps' views begin with whose texts are for programs, not for people."""
    return tuple(path for app in installed() for path in app.for_programs)


def missing_packages() -> Iterator[str]:
    """Yield a sentence for each package that an installed app or a setting needs, and that is not installed."""
    needed = [(app.name, module, extra) for app in installed() for module, extra in app.packages.items()]
    if not available_timezones():
        yield "This system has no time zones: pip install 'tenant-assistant[time-zones]'"
    for name, module, extra in needed:
        if not is_there(module):
            yield f"{name} needs a package that is not installed: pip install 'tenant-assistant[{extra}]'"


def problems_of_settings() -> list[str]:
    """Return a sentence for each wrong variable and each wrong setting of the assistant and of its optional apps."""
    return [*defaults.problems_of(settings), *(problem for app in installed() for problem in app.problems)]


def setting_names() -> dict[str, str]:
    """Return all settings of the assistant and of its optional apps, installed or not: the app of each by its name."""
    names = dict.fromkeys(defaults.__all__, "assistant")
    for app in pkgutil.iter_modules([str(_FOLDER)], "assistant.contrib."):
        package = import_module(app.name)
        if module_has_submodule(package, "defaults"):
            names |= dict.fromkeys(import_module(f"{app.name}.defaults").__all__, app.name)
    return names


def protecting_settings() -> frozenset[str]:
    """Return the settings of optional apps, installed or not, without which a site is less safe: their `PROTECTING`."""
    modules = {app for app in setting_names().values() if app != "assistant"}
    return frozenset().union(*(getattr(import_module(f"{app}.defaults"), "PROTECTING", ()) for app in modules))


def settings_of_absent_apps(own: Any, environment: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each setting or variable that is set although its app is not installed, with the app.

    Args:
        own: the project's Django settings.
    """
    for name, app in setting_names().items():
        is_set = name in environment or own.is_overridden(name)
        if app != "assistant" and is_set and not apps.is_installed(app):
            yield name, app
