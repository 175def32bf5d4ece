"""Attacks on one name from very many addresses, against counters in memory and with an hour that passes at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import count

import pytest

from assistant.services.signin.counting import OF_RESERVE, RESERVE, WIDER, Full, choose, counted
from assistant.services.signin.limits import EVERYWHERE, FROM_ADDRESS, ways_of

OWNER, START = "198.51.100.7", datetime(2026, 11, 25, tzinfo=UTC)
SITE_48 = int(ip_address("2001:db8:7::1"))


class Counters:
    """The counters of sign-ins, and a clock."""

    def __init__(self) -> None:
        self.now = START
        self._free_at: dict[str, datetime] = {}

    def admits(self, address: str, name: str = "alice") -> bool:
        ways = ways_of(name, address)
        known = {key: self._free_at.get(key, self.now) for way in ways for key, _ in way}
        chosen = choose(ways, known, self.now)
        if isinstance(chosen, Full):
            return False
        self._free_at |= {key: counted(known[key], limit, self.now) for key, limit in chosen}
        return True

    def attack(self, addresses: Iterator[str], seconds: int, tries: int) -> int:
        """Let addresses try, with a pause between them; return how many passwords were checked."""
        checked = 0
        for _ in range(tries):
            self.now += timedelta(seconds=seconds / tries)
            checked += self.admits(next(addresses))
        return checked


def of_one_48() -> Iterator[str]:
    """65,536 addresses, each of another /64 of one /48, again and again."""
    return (str(ip_address(SITE_48 + (number % 2**16 << 64))) for number in count())


def of_networks(networks: int) -> Iterator[str]:
    """Addresses of so many /48, again and again, each time of another /64."""
    return (
        str(ip_address(SITE_48 + (number % networks << 80) + (number // networks % 2**16 << 64))) for number in count()
    )


@pytest.mark.slow
def test_65536_networks_of_one_48_do_not_use_up_a_name() -> None:
    counters = Counters()
    checked = counters.attack(of_one_48(), seconds=3600, tries=2**16)
    limit = WIDER[48][0]
    assert limit.burst <= checked <= limit.burst + 3600 // limit.seconds
    assert counters.admits(OWNER) and counters.admits("2001:db8:9::1")


def test_a_56_has_a_limit_of_its_own() -> None:
    counters, limit = Counters(), WIDER[56][0]
    addresses = (str(ip_address(SITE_48 + (number << 64))) for number in range(256))
    assert sum(counters.admits(address) for address in addresses) == limit.burst
    assert counters.admits(str(ip_address(SITE_48 + (256 << 64))))


def test_the_owner_gets_through_in_the_stated_time_whoever_many_networks_attack() -> None:
    networks, counters = 40, Counters()
    addresses, step = of_networks(networks), RESERVE.seconds // 2
    # An attacker's tries come before each of the owner's.
    longest, waited = networks * OF_RESERVE.burst * RESERVE.seconds + RESERVE.seconds, 0
    counters.attack(addresses, seconds=60, tries=6 * networks)
    assert not counters.admits(OWNER)
    while not counters.admits(OWNER):
        counters.attack(addresses, seconds=step, tries=networks)
        waited += step
        assert waited <= longest


def test_the_reserve_is_small() -> None:
    counters = Counters()
    checked = counters.attack(of_networks(5_000), seconds=3600, tries=5_000)
    most = EVERYWHERE.burst + 3600 // EVERYWHERE.seconds + RESERVE.burst + 3600 // RESERVE.seconds
    assert checked <= most


@pytest.mark.parametrize("one", ["198.51.100.9", "::ffff:198.51.100.9"])
def test_of_ipv4_a_network_of_256_addresses_has_the_reserve_three_times(one: str) -> None:
    counters = Counters()
    while counters.admits(f"203.0.113.{len(counters._free_at) % 256}"):  # the name's own limit is used up
        pass
    keys = ways_of("alice", one)[1]
    assert sorted(limit.name for _, limit in keys) == ["address", "name-and-address", "name-and-reserve", "reserve"]
    assert [counters.admits(f"198.51.100.{number}") for number in range(4)] == [True, True, True, False]


def test_one_address_still_has_five_tries() -> None:
    counters = Counters()
    assert [counters.admits(OWNER) for _ in range(6)] == [True] * FROM_ADDRESS.burst + [False]
