"""Which fast paths are in use.

A fast path relies on the internals of another package to save time where it counts. Each stands in a folder named
`fast_paths` beside its plain twin, says there what it saves, and asks here whether it may be used: not if the setting
`FAST_PATHS` is false, nor with a version of the package that it was not tried with, which is logged once.
"""

from __future__ import annotations

import logging
import platform
from functools import cache
from importlib.metadata import version

logger = logging.getLogger(__name__)

PYTHON = "Python"
# By fast path: the package whose internals it relies on, and the versions (major and minor) that it was tried with.
TRIED: dict[str, tuple[str, frozenset[str]]] = {
    "prepared statements": ("Django", frozenset({"5.2", "6.1"})),
    "direct body": ("aiohttp", frozenset({"3.14"})),
    "request head": ("openai", frozenset({"3.52"})),
    "eager step": (PYTHON, frozenset({"3.11", "3.12", "3.13"})),
}
_settings = {"enabled": True}


def configure(*, enabled: bool) -> None:
    """Switch all fast paths on or off; on is the default."""
    _settings["enabled"] = enabled


def is_used(name: str) -> bool:
    """Whether the fast path of that name, a key of `TRIED`, is to be used."""
    return _settings["enabled"] and _is_tried(name)


@cache
def _is_tried(name: str) -> bool:
    package, tried = TRIED[name]
    installed = platform.python_version() if package == PYTHON else version(package)
    if ".".join(installed.split(".")[:2]) in tried:
        return True
    logger.warning(
        "The fast path %r was not tried with %s %s; the slower plain path is used.", name, package, installed
    )
    return False
