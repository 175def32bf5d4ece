"""The interface of a check, the testbed that it gets, and the registry of all checks."""

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
from benchmarks.resilience.sites import ForkServer, Server, Site, open_fork_server, open_site, serve


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: something broken on purpose, with which the check must miss a goal.

    Args:
        what: what is broken, for the report.
        misses: the figure (`Line.what`) that must be missed.
        plant: breaks the product; called in every server process before it serves. None if the check itself breaks
            something, when `testbed.has_fault(what)` is true.
    """

    what: str
    misses: str
    plant: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """`module:function` of `plant`, or an empty string."""
        return f"{self.plant.__module__}:{self.plant.__qualname__}" if self.plant else ""


@dataclass(frozen=True, slots=True)
class Testbed:
    """What a check runs on.

    Args:
        services: PostgreSQL, Redis and a folder, started for this run alone.
        scale: 1 for the numbers that the goals apply to, less for a shorter run.
        fault: the fault that is planted in this run.
        embedded: whether to measure with the embedded model too, where a check can: ten minutes, and 1.1 GB once.
    """

    services: Services
    scale: float = 1.0
    fault: Fault | None = None
    embedded: bool = False
    notes: list[str] = field(default_factory=list)

    def scaled(self, whole: int, least: int = 1) -> int:
        """Return `whole` times the scale, and at least `least`."""
        return max(least, round(whole * self.scale))

    def has_fault(self, what: str) -> bool:
        """Whether the fault with that `what` is planted."""
        return self.fault is not None and self.fault.what == what

    @property
    def folder(self) -> Path:
        """A folder for files, removed after the run."""
        return self.services.folder

    def site(self, kind: str, provider_url: str, **env: str) -> AbstractContextManager[Site]:
        """Create a database with the rows of `site.py`.

        Args:
            kind: "sqlite" (one process, event log in memory) or "postgres" (with Redis).
            provider_url: the base URL of the provider.
            env: additions to the environment of its servers.
        """
        planted = {"PLANTED": self.fault.name} if self.fault and self.fault.plant else {}
        return open_site(self.services, kind, provider_url, {**planted, **env})

    def serve(
        self, site: Site, *, port: int = 0, options: Sequence[str] = (), **env: str
    ) -> AbstractContextManager[Server]:
        """Run a server process on a site until the end of the block.

        `options` override those of docs/production.md.
        """
        return serve(site, port=port, env=env, options=options)

    def fork_server(self, site: Site) -> AbstractContextManager[ForkServer]:
        """Run a source of server processes that start quickly, to be killed, until the end of the block."""
        return open_fork_server(site)


class Check(Protocol):
    """The contents of a module in `checks`: a title, a sentence or two on what is done, and its planted faults."""

    TITLE: str
    HOW: str
    FAULTS: Sequence[Fault]

    def measure(self, testbed: Testbed) -> Sequence[Line]:
        """Return the figures with their goals. With a planted fault the scale is small."""


def find_checks() -> dict[str, Check]:
    """Return all checks by the names of their modules, which are unique over the folders of `checks`."""
    modules = [one.name for one in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}.") if not one.ispkg]
    by_name = {module.rpartition(".")[2]: module for module in modules}
    return {name: cast(Any, importlib.import_module(by_name[name])) for name in sorted(by_name)}
