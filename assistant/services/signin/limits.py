"""Limits of sign-ins by user name and address, counted in the database, which all processes share.

Every limit ends by itself. A sign-in is counted before its password is checked, so that many at once are no way around
a limit, and no longer counts once it has succeeded.
"""

from __future__ import annotations

import random
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address

from django.db import transaction
from django.utils.crypto import salted_hmac
from django.utils.translation import ngettext

from assistant.models.signin import SignInCount
from assistant.services.db.clock import database_time
from assistant.services.errors import Refused

KEPT = timedelta(hours=1)
RECORD_INTERVAL = timedelta(minutes=1)
# One of this many sign-ins deletes ended counters, and at most how many of them.
_PRUNE_ONE_IN, _PRUNE_AT_MOST = 20, 500


@dataclass(frozen=True, slots=True)
class Limit:
    """A token bucket: `burst` tries at once, then one more every `seconds`."""

    name: str
    burst: int
    seconds: int

    def key(self, *values: str) -> str:
        """Return the counter's key: a digest, because user names and addresses are personal."""
        return salted_hmac("assistant.signin." + self.name, "\0".join(values), algorithm="sha256").hexdigest()


# One name from one address. Slower than `EVERYWHERE` refills, so that one address cannot use up the latter.
FROM_ADDRESS = Limit("name-and-address", 5, 60)
# One name from all addresses together, except from devices that have signed in with it.
EVERYWHERE = Limit("name", 100, 36)
# One name from a device that has signed in with it: nobody else's tries count here.
FROM_DEVICE = Limit("device", 5, 60)
# All names from one address, which may be an office with many people.
OF_ADDRESS = Limit("address", 50, 10)
# Second factors of one name from all addresses together, but for devices that have signed in with it. A code has six
# digits, and whoever tries one knows the password already.
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
    keys: tuple[tuple[str, Limit], ...]


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
    own, network = plain_name(name), network_of(address)
    if device:
        keys = [(FROM_DEVICE.key(own, device), FROM_DEVICE)]
    else:
        keys = [(of_name.key(own), of_name)]
        if network:
            keys += [(FROM_ADDRESS.key(own, network), FROM_ADDRESS), (OF_ADDRESS.key(network), OF_ADDRESS)]
    attempt = Attempt(own, address, tuple(sorted(keys, key=lambda pair: pair[0])))
    _count(attempt)
    if random.randrange(_PRUNE_ONE_IN) == 0:  # noqa: S311 - no secret  # nosec B311
        _prune()
    return attempt


def _count(attempt: Attempt) -> None:
    """Count in one transaction; a refusal is raised after it, so that what was stored is committed."""
    refusal = None
    with transaction.atomic():
        now = database_time()
        # All are locked in the same order, so that two sign-ins never wait for each other.
        SignInCount.objects.bulk_create(
            [SignInCount(key=key, free_at=now) for key, _ in attempt.keys], ignore_conflicts=True
        )
        found = SignInCount.objects.select_for_update().order_by("key")
        rows = {row.key: row for row in found.filter(key__in=[key for key, _ in attempt.keys])}
        full = [(rows[key], limit, _wait(rows[key], limit, now)) for key, limit in attempt.keys if key in rows]
        row, _, wait = max(full, key=lambda each: each[2])
        if wait > timedelta():
            is_new = row.recorded_at is None or now - row.recorded_at >= RECORD_INTERVAL
            if is_new:
                row.recorded_at = now
                row.save(update_fields=["recorded_at"])
            seconds = max(1, -(-int(wait.total_seconds() * 1000) // 1000))
            refusal = TooManySignIns(now + wait, seconds, is_new=is_new)
        else:
            for row, limit, _ in full:
                row.free_at = max(row.free_at, now) + timedelta(seconds=limit.seconds)
                row.save(update_fields=["free_at"])
    if refusal is not None:
        raise refusal


def _wait(row: SignInCount, limit: Limit, now: datetime) -> timedelta:
    """Return how long a limit refuses: never longer than one step, whatever the database's clock has done."""
    step = timedelta(seconds=limit.seconds)
    return min(row.free_at - now - step * (limit.burst - 1), step)


def succeed(attempt: Attempt) -> None:
    """No longer count a sign-in, because it has succeeded. The wrong guesses before it still count."""
    with transaction.atomic():
        rows = SignInCount.objects.select_for_update().order_by("key")
        steps = dict(attempt.keys)
        for row in rows.filter(key__in=list(steps)):
            row.free_at -= timedelta(seconds=steps[row.key].seconds)
            row.save(update_fields=["free_at"])


def free_name(name: str, address: str = "") -> int:
    """Forget what was counted of a user name, and from one address too; return how many counters there were."""
    own = plain_name(name)
    keys = [EVERYWHERE.key(own), SECOND_FACTORS.key(own)]
    if address:
        keys += [FROM_ADDRESS.key(own, network_of(address)), OF_ADDRESS.key(network_of(address))]
    return SignInCount.objects.filter(key__in=keys).delete()[0]


def free_all() -> int:
    """Forget all that was counted; return how many counters there were."""
    return SignInCount.objects.all().delete()[0]


def _prune() -> None:
    """Delete counters that ended long ago, except those that another sign-in has locked."""
    with transaction.atomic():
        old = SignInCount.objects.select_for_update(skip_locked=True).filter(free_at__lt=database_time() - KEPT)
        SignInCount.objects.filter(key__in=list(old.values_list("key", flat=True)[:_PRUNE_AT_MOST])).delete()
