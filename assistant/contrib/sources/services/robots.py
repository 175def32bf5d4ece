"""Reads robots.txt as RFC 9309 says, with `Crawl-delay`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

# Sites name us so; groups for `*` hold for us otherwise.
AGENT = "tenant-assistant"
# Bytes that RFC 9309 has parsers read at least, and rules of a group that are kept.
MAX_BYTES = 500 * 1024
MAX_RULES = 1_000
_SAFE = "/%*$!&'()+,;=:@~-._?"


@dataclass(slots=True)
class Robots:
    """What a site lets us read; `delay` is the seconds that it wants between requests."""

    rules: list[tuple[bool, str]] = field(default_factory=list)
    delay: float = 0.0

    def allows(self, path: str) -> bool:
        """Return whether a path with its query may be read: the longest rule decides, of equal ones that allows."""
        path = _plain(path)
        hits = [(len(pattern), allows) for allows, pattern in self.rules if _matches(pattern, path)]
        return max(hits)[1] if hits else True


def read_robots(text: str) -> Robots:
    """Return the rules of a robots.txt that hold for us."""
    own = Robots()
    others = Robots()
    is_named = False
    groups: list[Robots] = []
    was_agent = False
    for line in text[:MAX_BYTES].splitlines():
        name, _, value = line.partition("#")[0].partition(":")
        name = name.strip().lower()
        value = value.strip()
        if name == "user-agent":
            groups = groups if was_agent else []
            agent = value.lower()
            if agent == "*":
                groups.append(others)
            elif re.match(r"[a-z_-]*", agent)[0] == AGENT:  # type: ignore[index]  # it matches always
                is_named = True
                groups.append(own)
        elif name in ("allow", "disallow", "crawl-delay"):
            for group in groups:
                _add(group, name, value)
        was_agent = name == "user-agent" or (was_agent and not name)
    return own if is_named else others


def _add(group: Robots, name: str, value: str) -> None:
    if name == "crawl-delay":
        group.delay = _seconds(value)
    elif value and len(group.rules) < MAX_RULES and len(value) <= 500:
        group.rules.append((name == "allow", _plain(value)))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _plain(path: str) -> str:
    return quote(unquote(path), safe=_SAFE)


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern with `*` and a `$` at its end fits the beginning of a path, in linear steps."""
    is_anchored = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not others:
        return not is_anchored or at == len(path)
    *middle, last = others
    for part in middle:
        place = path.find(part, at)
        if place < 0:
            return False
        at = place + len(part)
    if is_anchored:
        return path.endswith(last) and len(path) - len(last) >= at
    return path.find(last, at) >= 0
