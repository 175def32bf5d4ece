"""Which untrusted URLs this server may open: https on the public Internet, and hosts that the deployment lists."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from urllib.parse import SplitResult, urlsplit

from assistant.toolkit.guards.internal_hosts import NAME, NUMERIC_END, InternalHost
from assistant.toolkit.guards.ip_addresses import Address, is_public, read_address

Resolve = Callable[[str, int], Awaitable[list[str]]]

PORTS = {"http": 80, "https": 443}
# URL parsers treat these characters differently, so two parsers could read different hosts from one URL.
_FORBIDDEN = re.compile(r"[^\x21-\x7e]|\\")


class UnsafeUrl(ValueError):
    """The URL may not be opened; the message says why and can be shown to users."""


async def resolve_by_system(host: str, port: int) -> list[str]:
    """Resolve a host to addresses in the system's order of preference. Raises `OSError` if it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class UrlGuard:
    """Decides which URLs may be opened and which addresses may be connected to.

    Attributes:
        allow_loopback: allow loopback addresses, also without TLS; for development.
        internal_hosts: internal hosts that are allowed, also without TLS.
        trusted: URLs set by the deployment; their origins (scheme, host and port) are always allowed.
        resolve: returns the addresses of a host and port.
    """

    allow_loopback: bool = False
    internal_hosts: tuple[InternalHost, ...] = ()
    trusted: Iterable[str] = ()
    resolve: Resolve = field(default=resolve_by_system, repr=False)

    def check(self, url: str) -> None:
        """Check a URL without resolving its host. Raises `UnsafeUrl`."""
        parts, port = _read(url)
        host = parts.hostname or ""
        if self._is_trusted(parts.scheme, host, port):
            return
        address = _literal(host)
        if parts.scheme == "http" and not self._may_use_http(host, address, port):
            raise UnsafeUrl("The address must begin with https://.")
        if address is not None:
            self._check_address(host, address, port)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Resolve a host and check all of its addresses.

        Raises:
            UnsafeUrl: one of them is not allowed.
            OSError: the host has no address.
        """
        if any(self._is_trusted(scheme, host, port) for scheme in PORTS):
            return await self.resolve(host, port)
        literal = _literal(host)
        found = [host.strip("[]")] if literal is not None else await self.resolve(host, port)
        for text in found:
            try:
                address = read_address(text)
            except ValueError as exc:
                raise UnsafeUrl("The address is in a private or special network.") from exc
            self._check_address(host, address, port)
        return found

    def _check_address(self, host: str, address: Address, port: int) -> None:
        if is_public(address) or (self.allow_loopback and address.is_loopback):
            return
        if not any(place.admits(host, address, port) for place in self.internal_hosts):
            raise UnsafeUrl("The address is in a private or special network.")

    def _may_use_http(self, host: str, address: Address | None, port: int) -> bool:
        if self.allow_loopback and (host == "localhost" or (address is not None and address.is_loopback)):
            return True
        return any(place.names(host, address, port) for place in self.internal_hosts)

    def _is_trusted(self, scheme: str, host: str, port: int) -> bool:
        return (scheme, host.strip("[]").lower(), port) in {_origin(url) for url in self.trusted}


def _read(url: str) -> tuple[SplitResult, int]:
    """Return a URL's parts and port. Raises `UnsafeUrl` if it is not a plain http(s) URL."""
    if _FORBIDDEN.search(url):
        raise UnsafeUrl("The address contains invalid characters; write international names as xn--...")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise UnsafeUrl("The address cannot be read.") from exc
    if parts.scheme not in PORTS or not parts.hostname:
        raise UnsafeUrl("The address must begin with https:// and name a host.")
    if "@" in parts.netloc:
        raise UnsafeUrl("The address contains a user name or password; enter them as credentials.")
    if port == 0:
        raise UnsafeUrl("The address has port 0.")
    if "[" in parts.netloc and ":" not in parts.hostname:
        raise UnsafeUrl("The address cannot be read.")
    _literal(parts.hostname)
    return parts, port or PORTS[parts.scheme]


def _check_name(host: str) -> None:
    if not NAME.fullmatch(host) or len(host) > 253:
        raise UnsafeUrl("The address has no valid host name.")
    if NUMERIC_END.search(host) and _plain_ipv4(host) is None:
        raise UnsafeUrl("Write the IP address as four decimal numbers.")


def _plain_ipv4(host: str) -> IPv4Address | None:
    try:
        return IPv4Address(host)
    except ValueError:
        return None


def _literal(host: str) -> Address | None:
    """Return the IP address that a host is written as; None for a name. Raises `UnsafeUrl` if it is ambiguous."""
    if ":" not in host:
        _check_name(host)
        return _plain_ipv4(host)
    try:
        return read_address(host.strip("[]"))
    except ValueError as exc:
        raise UnsafeUrl("The address cannot be read.") from exc


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or PORTS.get(parts.scheme, 0)
