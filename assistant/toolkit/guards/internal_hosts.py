"""Places inside a deployment's own network that it opens to addresses that tenants set; none unless they are named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_network

from assistant.toolkit.guards.ip_addresses import Address, Network, is_private, is_public, read_address

# A host's name as resolvers take it.
NAME = re.compile(r"[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?)*\.?", re.A)
# The WHATWG's "ends in a number": what resolvers read as an IPv4 address, be it octal, hexadecimal or short.
NUMERIC_END = re.compile(r"(^|\.)(\d+|0[xX][0-9a-fA-F]*)\.?$")
_WITH_PORT = re.compile(r"(?:\[(?P<bracketed>[^\]]*)\]|(?P<plain>[^:]*))(?::(?P<port>[1-9]\d{0,4}))?")


@dataclass(frozen=True, slots=True)
class InternalHost:
    """A host by its name, or a network (a single address is one of its own); on one port, or on any (0).

    A name lets in whichever private address it leads to. What clouds tell their machines (169.254.169.254 and its
    like), and whatever else is neither public nor private, is let in by its own address alone.
    """

    name: str = ""
    network: Network | None = None
    port: int = 0

    def admits(self, host: str, address: Address, port: int) -> bool:
        """Whether `host`, as a URL has it, may lead to this address and port."""
        if self.port not in {0, port}:
            return False
        if self.network is None:
            return self.name == _normalised(host) and is_private(address)
        is_exact = self.network.num_addresses == 1
        return address in self.network and (is_exact or is_private(address))

    def names(self, host: str, address: Address | None, port: int) -> bool:
        """Whether a URL's own text says that it leads here, so that it may go without TLS.

        Args:
            address: the one that `host` is written as; None for a name.
        """
        if address is not None:
            return self.network is not None and self.admits(host, address, port)
        return bool(self.name) and self.port in {0, port} and self.name == _normalised(host)


def parse_internal_host(text: str) -> InternalHost:
    """A place as a deployment writes it: `vllm.internal`, `10.1.2.3:8000`, `10.20.0.0/24`, `[fd12::/64]:443`.

    Raises:
        ValueError: it is none, or not inside; the sentence says why.
    """
    found = _WITH_PORT.fullmatch(text) or re.fullmatch(
        r"(?P<bracketed>)(?P<plain>[0-9a-fA-F:.]+(?:/\d+)?)(?P<port>)", text
    )
    port = int(found["port"] or 0) if found else 0
    host = (found["bracketed"] or found["plain"] or "") if found else ""
    if not found or port > 65535:
        raise ValueError(f"{text!r} is no host, address or network")
    if NAME.fullmatch(host) and not NUMERIC_END.search(host):
        return InternalHost(name=_normalised(host), port=port)
    return InternalHost(network=_network(host, text), port=port)


def _network(host: str, text: str) -> Network:
    try:
        network = ip_network(host) if "/" in host else ip_network(read_address(host))
    except ValueError:
        raise ValueError(f"{text!r} is no host, address or network") from None
    if network.is_multicast or is_public(network[0]):
        raise ValueError(f"{text!r} is not inside; the public Internet needs no mention")
    if network.num_addresses > 1 and not is_private(network):
        raise ValueError(f"{text!r} is no private network")
    return network


def _normalised(host: str) -> str:
    return host.lower().removesuffix(".")
