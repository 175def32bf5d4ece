"""What a check is, what it is given, and how those in the folder `checks` are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from benchmarks.report import Line
from benchmarks.resilience import checks
from benchmarks.resilience.services import Services
from benchmarks.resilience.sites import Nursery, Server, Site, open_nursery, open_site, serve


@dataclass(frozen=True, slots=True)
class Fault:
    """Something broken on purpose: a check that is worth its name misses a goal then.

    Args:
        what: what is broken, for people.
        misses: the figure (`Line.what`) that must be missed.
        plant: runs in every server process before it serves, and breaks the product there. None if the check itself
            breaks something: it asks `ground.has(what)`.
    """

    what: str
    misses: str
    plant: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """`module:function` of what plants it."""
        return f"{self.plant.__module__}:{self.plant.__qualname__}" if self.plant else ""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a check stands on.

    Args:
        services: PostgreSQL, Redis and a folder, made for this run alone.
        scale: 1 for the numbers that the goals speak of, less to try things out.
        fault: what is broken on purpose this time.
    """

    services: Services
    scale: float = 1.0
    fault: Fault | None = None
    notes: list[str] = field(default_factory=list)

    def many(self, whole: int, least: int = 1) -> int:
        """So many of `whole` as the scale asks for, `least` at the least."""
        return max(least, round(whole * self.scale))

    def has(self, what: str) -> bool:
        """Whether the fault of that description is planted."""
        return self.fault is not None and self.fault.what == what

    @property
    def folder(self) -> Path:
        """Room for files, gone after the run."""
        return self.services.folder

    def site(self, kind: str, provider_url: str, **env: str) -> AbstractContextManager[Site]:
        """A fresh database with the rows of `site.py`: `kind` is "sqlite" (one process, log in memory) or "postgres"
        (with Redis); `env` adds to the environment of its servers."""
        planted = {"PLANTED": self.fault.name} if self.fault and self.fault.plant else {}
        return open_site(self.services, kind, provider_url, {**planted, **env})

    def serve(self, site: Site, *, port: int = 0, **env: str) -> AbstractContextManager[Server]:
        """A server process on a site, as docs/production.md starts it, until the end of the block."""
        return serve(site, port=port, env=env)

    def nursery(self, site: Site) -> AbstractContextManager[Nursery]:
        """Server processes by the dozen, to be killed: each is there at once."""
        return open_nursery(site)


class Check(Protocol):
    """What a module in `checks` holds.

    `TITLE` names it, `HOW` says in a sentence or two what is done, `FAULTS` what is broken to see that it is caught.
    """

    TITLE: str
    HOW: str
    FAULTS: Sequence[Fault]

    def measure(self, ground: Ground) -> Sequence[Line]:
        """The figures with their goals. A planted fault is run with a small scale."""


def found() -> dict[str, Check]:
    """All checks by the name of their module."""
    names = sorted(module.name for module in pkgutil.iter_modules(checks.__path__))
    return {name: cast(Any, importlib.import_module(f"{checks.__name__}.{name}")) for name in names}
