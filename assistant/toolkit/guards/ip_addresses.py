"""Classifies IP addresses as public, private or special."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# From https://www.iana.org/assignments/iana-ipv4-special-registry; also multicast and all reserved addresses.
_SPECIAL_V4 = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # Azure's platform, which trusts requests from its virtual machines
    )
)  # fmt: skip
# From https://www.iana.org/assignments/iana-ipv6-special-registry; public addresses are in 2000::/3.
_UNICAST_V6 = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    ip_network(network)
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")  # 2002: 6to4
)
# Private networks: RFC 1918, RFC 6598, RFC 4193, and loopback.
_PRIVATE = tuple(
    ip_network(network)
    for network in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "fc00::/7", "::1/128",
    )
)  # fmt: skip
# Cloud metadata services within these networks: Alibaba; AWS and Google over IPv6.
_METADATA = tuple(ip_network(network) for network in ("100.100.100.200/32", "fd00:ec2::/32", "fd20:ce::/32"))
# The last 32 bits are an IPv4 address (RFC 6052); IPv6-only networks reach IPv4 this way.
_NAT64 = IPv6Network("64:ff9b::/96")


def read_address(text: str) -> Address:
    """Parse an address as returned by `socket.getaddrinfo`; IPv4 addresses embedded in IPv6 are extracted.

    Raises:
        ValueError: the text is not an address, or has a scope (network interface).
    """
    address = ip_address(text)
    if isinstance(address, IPv4Address):
        return address
    if address.scope_id is not None:
        raise ValueError(f"{text} is bound to a network interface")
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address


def is_public(address: Address) -> bool:
    """Whether an address, as `read_address` returns it, is on the public Internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    return address in _UNICAST_V6 and not any(address in network for network in _SPECIAL_V6)


def is_private(subject: Address | Network) -> bool:
    """Whether an address, or a whole network, is private. Addresses of cloud metadata services do not count."""
    if isinstance(subject, IPv4Network | IPv6Network):
        return any(subject.version == one.version and subject.subnet_of(one) for one in _PRIVATE)  # type: ignore[arg-type]
    return any(subject in network for network in _PRIVATE) and not any(subject in network for network in _METADATA)
