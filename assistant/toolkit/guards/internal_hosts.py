"""Hosts in the deployment's internal network that tenants' URLs may refer to; none by default."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_network

from assistant.toolkit.guards.ip_addresses import Address, Network, is_private, is_public, read_address

# A host name as resolvers accept it.
NAME = re.compile(r"[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?)*\.?", re.A)
# "Ends in a number" of the WHATWG URL standard: resolvers read it as IPv4, also octal, hexadecimal or shortened.
NUMERIC_END = re.compile(r"(^|\.)(\d+|0[xX][0-9a-fA-F]*)\.?$")
_WITH_PORT = re.compile(r"(?:\[(?P<bracketed>[^\]]*)\]|(?P<plain>[^:]*))(?::(?P<port>[1-9]\d{0,4}))?")


@dataclass(frozen=True, slots=True)
class InternalHost:
    """A host name, or a network (a single address is a network of one), on one port or on any.

    Exactly one of `name` and `network` is set; `port` is 0 for any.

    A name allows any private address that it resolves to. Cloud metadata services (169.254.169.254 and similar) and
    other addresses that are neither public nor private must be listed by their exact address.
    """

    name: str = ""
    network: Network | None = None
    port: int = 0

    def admits(self, host: str, address: Address, port: int) -> bool:
        """Whether connections to this address and port are allowed for `host`, as written in a URL."""
        if self.port not in {0, port}:
            return False
        if self.network is None:
            return self.name == _normalised(host) and is_private(address)
        is_exact = self.network.num_addresses == 1
        return address in self.network and (is_exact or is_private(address))

    def names(self, host: str, address: Address | None, port: int) -> bool:
        """Whether a URL names this host explicitly, so that TLS is not required.

        Args:
            address: `host` as an address; None for a name.
        """
        if address is not None:
            return self.network is not None and self.admits(host, address, port)
        return bool(self.name) and self.port in {0, port} and self.name == _normalised(host)


def parse_internal_host(text: str) -> InternalHost:
    """Parse an entry of ASSISTANT_INTERNAL_HOSTS: `vllm.internal`, `10.1.2.3:8000`, `10.20.0.0/24`, `[fd12::/64]:443`.

    Raises:
        ValueError: the text is invalid, or the address is public; the message says why.
    """
    match = _WITH_PORT.fullmatch(text) or re.fullmatch(
        r"(?P<bracketed>)(?P<plain>[0-9a-fA-F:.]+(?:/\d+)?)(?P<port>)", text
    )
    port = int(match["port"] or 0) if match else 0
    host = (match["bracketed"] or match["plain"] or "") if match else ""
    if not match or port > 65535:
        raise ValueError(f"{text!r} is not a host, address or network")
    if NAME.fullmatch(host) and not NUMERIC_END.search(host):
        return InternalHost(name=_normalised(host), port=port)
    return InternalHost(network=_network(host, text), port=port)


def _network(host: str, text: str) -> Network:
    try:
        network = ip_network(host) if "/" in host else ip_network(read_address(host))
    except ValueError:
        raise ValueError(f"{text!r} is not a host, address or network") from None
    if network.is_multicast or is_public(network[0]):
        raise ValueError(f"{text!r} is public; only internal addresses have to be listed")
    if network.num_addresses > 1 and not is_private(network):
        raise ValueError(f"{text!r} is not a private network")
    return network


def _normalised(host: str) -> str:
    return host.lower().removesuffix(".")
