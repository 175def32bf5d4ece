"""Internal hosts that a deployment allows for tenants' URLs, and no others."""

from __future__ import annotations

import pytest

from assistant.toolkit.guards.internal_hosts import parse_internal_host
from assistant.toolkit.guards.url_guard import UnsafeUrl, UrlGuard


def opening(*places: str, resolve: dict[str, list[str]] | None = None) -> UrlGuard:
    """Return a guard with these internal hosts; names resolve to the given addresses."""

    async def look_up(host: str, port: int) -> list[str]:
        return (resolve or {})[host]

    return UrlGuard(internal_hosts=tuple(parse_internal_host(place) for place in places), resolve=look_up)


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("vllm.internal", "http://vllm.internal:8000/v1"),
        ("vllm.internal", "https://VLLM.internal./v1"),
        ("vllm.internal:8000", "http://vllm.internal:8000/v1"),
        ("10.1.2.3", "http://10.1.2.3/mcp"),
        ("10.1.2.3:8000", "http://10.1.2.3:8000/mcp"),
        ("10.1.2.0/24", "https://10.1.2.3/mcp"),
        ("10.1.2.0/24:8000", "http://10.1.2.3:8000/mcp"),
        ("fd12::5", "http://[fd12::5]/mcp"),
        ("[fd12::/64]:8000", "http://[fd12::5]:8000/mcp"),
        ("10.1.2.3", "http://[::ffff:10.1.2.3]/mcp"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/mcp"),
        ("169.254.169.254", "http://169.254.169.254/latest/"),
    ],
)
async def test_listed_hosts_are_allowed(place: str, url: str) -> None:
    opening(place).check(url)


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("vllm.internal", "http://other.internal/"),
        ("vllm.internal", "http://vllm.internal.evil.example/"),
        ("vllm.internal", "http://a.vllm.internal/"),
        ("vllm.internal:8000", "http://vllm.internal:6379/"),
        ("10.1.2.3", "http://10.1.2.4/"),
        ("10.1.2.3:8000", "http://10.1.2.3:6379/"),
        ("10.1.2.0/24", "http://10.1.3.1/"),
        ("10.1.2.0/24", "http://example.com/"),
        ("10.1.2.3", "http://0x0a010203/"),
        ("127.0.0.1:8000", "http://localhost:8000/"),
        ("10.0.0.0/8", "https://169.254.169.254/"),
        ("100.64.0.0/10", "https://100.100.100.200/"),
        ("fc00::/7", "https://[fd00:ec2::254]/"),
    ],
)
async def test_other_hosts_are_refused(place: str, url: str) -> None:
    with pytest.raises(UnsafeUrl):
        opening(place).check(url)


@pytest.mark.parametrize(
    ("place", "address", "is_open"),
    [
        ("mcp.internal", "10.9.8.7", True),
        ("mcp.internal", "127.0.0.1", True),
        ("mcp.internal:8443", "10.9.8.7", True),
        ("mcp.internal:80", "10.9.8.7", False),
        ("mcp.internal", "169.254.169.254", False),
        ("mcp.internal", "100.100.100.200", False),
        ("mcp.internal", "fd00:ec2::254", False),
        ("mcp.internal", "224.0.0.1", False),
        ("mcp.internal", "0.0.0.0", False),
        ("10.9.0.0/16", "10.9.8.7", True),
        ("10.9.0.0/16", "::ffff:10.9.8.7", True),
        ("10.9.0.0/16", "10.8.0.1", False),
        ("169.254.169.254", "169.254.169.254", True),
        ("other.internal", "10.9.8.7", False),
    ],
)
async def test_a_name_is_judged_by_its_address(place: str, address: str, is_open: bool) -> None:
    guard = opening(place, resolve={"mcp.internal": ["1.1.1.1", address]})
    if is_open:
        assert await guard.addresses("mcp.internal", 8443) == ["1.1.1.1", address]
    else:
        with pytest.raises(UnsafeUrl):
            await guard.addresses("mcp.internal", 8443)


@pytest.mark.parametrize(
    "wrong",
    [
        "http://vllm.internal", "vllm internal", "*.internal", "10.1.2.3/24", "10.1.2", "0x0a010203", "10.1.2.3:0",
        "10.1.2.3:99999", "0.0.0.0/0", "::/0", "1.1.1.1", "1.1.1.0/24", "2606:4700::1111", "169.254.0.0/16",
        "224.0.0.1", "10.0.0.0/7", "fe80::1%eth0", "fd12::5:", "[fd12::5", "user@host", "host/path",
    ],
)  # fmt: skip
def test_entries_that_are_no_internal_host_are_refused(wrong: str) -> None:
    with pytest.raises(ValueError):
        parse_internal_host(wrong)
