"""Which fast paths are in use.

A fast path relies on the internals of another package to save time. Each is in a folder named `fast_paths` next to its
plain implementation, documents what it saves, and asks `is_used` before it does anything. That is false if the setting
`ASSISTANT_FAST_PATHS` is false, or if the installed version of the package is untested, which is logged once.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import version

logger = logging.getLogger(__name__)

# By fast path: the package whose internals it relies on, and the tested versions (major.minor).
TESTED_VERSIONS: dict[str, tuple[str, frozenset[str]]] = {
    "prepared statements": ("Django", frozenset({"5.2", "6.1"})),
    "direct body": ("aiohttp", frozenset({"3.14"})),
}
_settings = {"enabled": True}


def configure(*, enabled: bool) -> None:
    """Switch all fast paths on or off; on is the default."""
    _settings["enabled"] = enabled
    is_used.cache_clear()


@cache
def is_used(name: str) -> bool:
    """Whether to use the fast path with this name, a key of `TESTED_VERSIONS`."""
    if not _settings["enabled"]:
        return False
    package, tested = TESTED_VERSIONS[name]
    installed = version(package)
    if ".".join(installed.split(".")[:2]) in tested:
        return True
    logger.warning(
        "The fast path %r is not tested with %s %s; the slower plain path is used.", name, package, installed
    )
    return False
