"""Decides which counters a sign-in counts in, and how long it waits if they are full. Uses no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address

from django.utils.crypto import salted_hmac


@dataclass(frozen=True, slots=True)
class Limit:
    """A token bucket: `burst` tries at once, then one more every `seconds`."""

    name: str
    burst: int
    seconds: int

    def key(self, *values: str) -> str:
        """Return the counter's key: a digest, because user names and addresses are personal."""
        return salted_hmac("assistant.signin." + self.name, "\0".join(values), algorithm="sha256").hexdigest()

    def wait(self, free_at: datetime, now: datetime) -> timedelta:
        """Return how long a counter refuses: at most one step, even if the database's clock was changed."""
        step = timedelta(seconds=self.seconds)
        return min(free_at - now - step * (self.burst - 1), step)


# Limits of one name, and of all names, from networks that one customer may have. Those of one name refill more slowly
# than `EVERYWHERE`, so that no such network can use up that limit.
WIDER = {
    56: (Limit("name-and-56", 10, 60), Limit("of-56", 100, 5)),
    48: (Limit("name-and-48", 20, 60), Limit("of-48", 200, 2)),
}
# A reserve of one name besides `EVERYWHERE`, for networks that have not used it lately, so that attacks from many
# networks lock nobody out.
RESERVE = Limit("reserve", 10, 30)
OF_RESERVE = Limit("name-and-reserve", 3, 8 * 3600)

# The counters of one way to admit a sign-in: all of them must have room.
Keys = tuple[tuple[str, Limit], ...]


@dataclass(frozen=True, slots=True)
class Full:
    """The counter that a sign-in waits for, and how long."""

    key: str
    wait: timedelta


def wider_keys(name: str, address: str) -> Keys:
    """Return the counters of the networks around an address of IPv6."""
    parsed, keys = _parsed(address), []
    if isinstance(parsed, IPv6Address):
        for bits, (of_name, of_all) in WIDER.items():
            network = _network(parsed, bits)
            keys += [(of_name.key(name, network), of_name), (of_all.key(network), of_all)]
    return tuple(keys)


def reserve_keys(name: str, address: str) -> Keys:
    """Return the counters that take the place of the name's own: 48 bits of IPv6, and 24 of IPv4, are one network."""
    parsed = _parsed(address)
    if parsed is None:
        return ()
    network = _network(parsed, 48 if isinstance(parsed, IPv6Address) else 24)
    return (RESERVE.key(name), RESERVE), (OF_RESERVE.key(name, network), OF_RESERVE)


def choose(ways: Sequence[Keys], free_at: Mapping[str, datetime], now: datetime) -> Keys | Full:
    """Return the first way in which all counters have room; otherwise the shortest wait.

    Args:
        free_at: by key, when the counter is whole again. One that is not there was deleted meanwhile, and has room.
    """
    waits: list[Full] = []
    for keys in ways:
        fullest = max(
            (Full(key, limit.wait(free_at[key], now)) for key, limit in keys if key in free_at),
            key=lambda full: full.wait,
            default=None,
        )
        if fullest is None or fullest.wait <= timedelta():
            return keys
        waits.append(fullest)
    return min(waits, key=lambda full: full.wait)


def counted(free_at: datetime, limit: Limit, now: datetime) -> datetime:
    """Return a counter's `free_at` after one more try."""
    return max(free_at, now) + timedelta(seconds=limit.seconds)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed


def _network(parsed: IPv4Address | IPv6Address, bits: int) -> str:
    return f"{int(parsed) >> (parsed.max_prefixlen - bits):x}/{bits}"
