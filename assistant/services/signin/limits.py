"""Limits of sign-ins by user name and address, counted in the database, which all processes share.

Every limit ends by itself. A sign-in is counted before its password is checked, so that many at once are no way around
a limit, and no longer counts once it has succeeded.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address

from django.db import transaction
from django.utils.translation import ngettext

from assistant.models.signin import SignInCount
from assistant.services.db.clock import database_time
from assistant.services.errors import Refused
from assistant.services.signin.counting import (
    RESERVE,
    Full,
    Keys,
    Limit,
    choose,
    counted,
    reserve_keys,
    wider_keys,
)

KEPT = timedelta(hours=1)
RECORD_INTERVAL = timedelta(minutes=1)
# One in this many sign-ins deletes ended counters, and the most that it deletes.
_PRUNE_ONE_IN, _PRUNE_AT_MOST = 20, 500

# One name from one address. Slower than `EVERYWHERE` refills, so that one address cannot use up the latter.
FROM_ADDRESS = Limit("name-and-address", 5, 60)
# One name from all addresses together, except from devices that have signed in with it.
EVERYWHERE = Limit("name", 100, 36)
# One name from a device that has signed in with it: nobody else's tries count here.
FROM_DEVICE = Limit("device", 5, 60)
# All names from one address, which may be an office with many people.
OF_ADDRESS = Limit("address", 50, 10)
# Second factors of one name from all addresses together, but for devices that have signed in with it. A code has six
# digits, and a person who enters one knows the password already.
SECOND_FACTORS = Limit("second-factor", 20, 300)


class TooManySignIns(Refused):
    """Sign-in was tried too often. The message can be shown, and is the same for names that do not exist.

    `is_new`: no refusal of this kind was raised in the last minute, so that it should be recorded.
    """

    def __init__(self, resets_at: datetime, seconds: int, *, is_new: bool) -> None:
        minutes = -(-seconds // 60)
        sentence = (
            ngettext(
                "Sign-in was tried too often. Try again in %(count)d second.",
                "Sign-in was tried too often. Try again in %(count)d seconds.",
                seconds,
            )
            % {"count": seconds}
            if seconds < 60
            else ngettext(
                "Sign-in was tried too often. Try again in %(count)d minute.",
                "Sign-in was tried too often. Try again in %(count)d minutes.",
                minutes,
            )
            % {"count": minutes}
        )
        super().__init__("limit_reached", sentence, resets_at=resets_at)
        self.is_new = is_new


@dataclass(frozen=True, slots=True)
class Attempt:
    """One counted sign-in, by `admit`."""

    name: str
    address: str
    keys: Keys


def plain_name(name: str) -> str:
    """Return a user name in one spelling, so that guesses with other letters or spaces count as the same name."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def network_of(address: str) -> str:
    """Return what is counted as one address: of IPv6 the first 64 bits, which one customer has at least."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return ""
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(IPv6Address(int(parsed) >> 64 << 64))
    return str(parsed)


def admit(*, name: str, address: str, device: str = "", of_name: Limit = EVERYWHERE) -> Attempt:
    """Count a sign-in that is about to check a password or a second factor.

    Args:
        address: the client's; an unknown one counts towards the limits of the name alone.
        device: the id of a device that has signed in with this name before, which has a limit of its own.
        of_name: the limit of the name from all addresses together.

    Raises:
        TooManySignIns: a limit is reached; nothing was counted.
    """
    own = plain_name(name)
    attempt = Attempt(own, address, _count(ways_of(own, address, device, of_name)))
    if random.randrange(_PRUNE_ONE_IN) == 0:  # noqa: S311 - no secret  # nosec B311
        _prune()
    return attempt


def ways_of(own: str, address: str, device: str = "", of_name: Limit = EVERYWHERE) -> list[Keys]:
    """Return the counters of a sign-in by a name in one spelling; it needs room in all of one of the groups.

    Second factors have no reserve: a person who enters one knows the password, and a code is short.
    """
    if device:
        return [((FROM_DEVICE.key(own, device), FROM_DEVICE),)]
    network = network_of(address)
    everywhere: Keys = ((of_name.key(own), of_name),)
    if not network:
        return [everywhere]
    around: Keys = (
        (FROM_ADDRESS.key(own, network), FROM_ADDRESS),
        (OF_ADDRESS.key(network), OF_ADDRESS),
        *wider_keys(own, address),
    )
    usual: Keys = (*everywhere, *around)
    return [usual, (*reserve_keys(own, address), *around)] if of_name is EVERYWHERE else [usual]


def _count(ways: Sequence[Keys]) -> Keys:
    """Count in the first of the ways that has room, and return it.

    In one transaction; a refusal is raised after it, so that what it stores is not rolled back.
    """
    limits = {key: limit for keys in ways for key, limit in keys}
    with transaction.atomic():
        now = database_time()
        # All are locked in the same order, so that two sign-ins never wait for each other.
        SignInCount.objects.bulk_create(
            [SignInCount(key=key, free_at=now) for key in sorted(limits)], ignore_conflicts=True
        )
        found = SignInCount.objects.select_for_update().order_by("key").filter(key__in=list(limits))
        rows = {row.key: row for row in found}
        chosen = choose(ways, {key: row.free_at for key, row in rows.items()}, now)
        if isinstance(chosen, Full):
            row = rows[chosen.key]
            is_new = row.recorded_at is None or now - row.recorded_at >= RECORD_INTERVAL
            if is_new:
                row.recorded_at = now
                row.save(update_fields=["recorded_at"])
            refusal = chosen, is_new
        else:
            counting = [rows[key] for key, _ in chosen if key in rows]
            for row in counting:
                row.free_at = counted(row.free_at, limits[row.key], now)
            SignInCount.objects.bulk_update(counting, ["free_at"])
            return chosen
    full, is_new = refusal
    seconds = max(1, -(-int(full.wait.total_seconds() * 1000) // 1000))
    raise TooManySignIns(now + full.wait, seconds, is_new=is_new)


def succeed(attempt: Attempt) -> None:
    """Remove a sign-in from the counts, because it has succeeded. The wrong guesses before it still count."""
    with transaction.atomic():
        rows = SignInCount.objects.select_for_update().order_by("key")
        steps = dict(attempt.keys)
        for row in rows.filter(key__in=list(steps)):
            row.free_at -= timedelta(seconds=steps[row.key].seconds)
            row.save(update_fields=["free_at"])


def free_name(name: str, address: str = "") -> int:
    """Forget what was counted of a user name, and from one address too; return how many counters there were."""
    own = plain_name(name)
    keys = [EVERYWHERE.key(own), SECOND_FACTORS.key(own), RESERVE.key(own)]
    if address:
        keys += [FROM_ADDRESS.key(own, network_of(address)), OF_ADDRESS.key(network_of(address))]
        keys += [key for key, _ in (*wider_keys(own, address), *reserve_keys(own, address))]
    return SignInCount.objects.filter(key__in=keys).delete()[0]


def free_all() -> int:
    """Forget all that was counted; return how many counters there were."""
    return SignInCount.objects.all().delete()[0]


def _prune() -> None:
    """Delete counters that ended long ago, except those that another sign-in has locked."""
    with transaction.atomic():
        old = SignInCount.objects.select_for_update(skip_locked=True).filter(free_at__lt=database_time() - KEPT)
        SignInCount.objects.filter(key__in=list(old.values_list("key", flat=True)[:_PRUNE_AT_MOST])).delete()
