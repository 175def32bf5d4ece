"""The URL guard: its decisions by a URL's text and by the addresses of its host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.toolkit.guards.ip_addresses import is_public, read_address
from assistant.toolkit.guards.url_guard import UnsafeUrl, UrlGuard

INSIDE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "0.0.0.0", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1",
    "168.63.129.16", "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2002:7f00:1::",
    "2001::1", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254",
    "64:ff9b:1::1", "fec0::1", "3fff::1", "100::1", "5f00::1",
]  # fmt: skip
OUTSIDE = ["1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"]
DOUBTFUL = [
    "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.1/", "https://0x7f.1/",
    "https://127.0.0.1./", "https://1.2.3/", "https://01.1.1.1/", "https://1.1.1.08/", "https://0xa9.0xfe.0xa9.0xfe/",
    "https://１２７.0.0.1/", "https://127。0.0.1/", "https://ⓔxample.com/", "https://ex ample.com/", "https://a\\@b/",
    "https://user:secret@example.com/", "https://user@example.com/", "https://example.com:0/",
    "https://example.com:99999/", "https://[::1/", "https://[fe80::1%25eth0]/", "https://[v1.a]/", "https:///path",
    "https://", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "//example.com/", "example.com",
    "", "https://exa\tmple.com/", "https://example.com/\r\nX: y", "https://-a.example.com/", "https://a..example.com/",
    "https://%31%32%37.0.0.1/", "javascript:alert(1)", "http://example.com/", "https://" + "a" * 300 + ".com/",
]  # fmt: skip


def looking_up(*answers: list[str]) -> UrlGuard:
    """Return a guard whose hosts resolve to these addresses, one list for each lookup."""
    left = list(answers)

    async def resolve(host: str, port: int) -> list[str]:
        return left.pop(0)

    return UrlGuard(resolve=resolve)


@pytest.mark.parametrize("address", INSIDE)
def test_internal_addresses_are_refused(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(UnsafeUrl):
        UrlGuard().check(f"https://{host}/mcp")


@pytest.mark.parametrize("address", OUTSIDE)
def test_public_addresses_are_allowed(address: str) -> None:
    UrlGuard().check(f"https://{f'[{address}]' if ':' in address else address}:8443/mcp?a=b|c#d")


@pytest.mark.parametrize("url", DOUBTFUL)
def test_ambiguous_urls_are_refused(url: str) -> None:
    with pytest.raises(UnsafeUrl):
        UrlGuard(allow_loopback=True).check(url)


@pytest.mark.parametrize("address", [*INSIDE, "fe80::1%eth0", "nonsense"])
async def test_a_name_that_resolves_to_an_internal_address_is_refused(address: str) -> None:
    with pytest.raises(UnsafeUrl):
        await looking_up([address]).addresses("mcp.example.com", 443)


async def test_a_name_with_one_internal_address_among_public_ones_is_refused() -> None:
    with pytest.raises(UnsafeUrl):
        await looking_up(["1.1.1.1", "10.0.0.1"]).addresses("mcp.example.com", 443)


async def test_a_name_is_resolved_once() -> None:
    both = ["1.1.1.1", "2606:4700::1111"]
    assert await looking_up(both).addresses("a.example", 443) == both


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/", "http://localhost/", "http://[::1]:1/", "https://127.9.9.9/"]
)
def test_loopback_is_allowed_in_development_only(url: str) -> None:
    UrlGuard(allow_loopback=True).check(url)
    with pytest.raises(UnsafeUrl):
        UrlGuard().check(url)


async def test_development_allows_no_other_internal_address() -> None:
    guard = UrlGuard(allow_loopback=True)
    for url in ("http://10.0.0.1/", "https://169.254.169.254/", "http://0.0.0.0/", "http://example.com/"):
        with pytest.raises(UnsafeUrl):
            guard.check(url)


async def test_a_trusted_url_allows_its_origin_including_the_port() -> None:
    guard = UrlGuard(trusted=["http://10.0.0.5:9000/v1"])
    guard.check("http://10.0.0.5:9000/elsewhere")
    assert await guard.addresses("10.0.0.5", 9000) == ["10.0.0.5"]
    for url in ("http://10.0.0.5:9001/", "https://10.0.0.5:9000/", "http://10.0.0.6:9000/"):
        with pytest.raises(UnsafeUrl):
            guard.check(url)
    with pytest.raises(UnsafeUrl):
        await guard.addresses("10.0.0.5", 9001)


@given(st.integers(0, 2**32 - 1))
def test_every_notation_of_an_ipv4_address_gives_the_same_decision(number: int) -> None:
    plain = read_address(".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0)))
    high, low = f"{number >> 16:x}", f"{number & 0xFFFF:x}"
    for dressed in (f"::ffff:{high}:{low}", f"64:ff9b::{high}:{low}"):
        assert read_address(dressed) == plain
    assert not is_public(read_address(f"2002:{high}:{low}::1"))
    assert not is_public(read_address(f"::{high}:{low}"))
    if not plain.is_global:
        assert not is_public(plain)


@given(st.text(max_size=60))
def test_no_text_makes_the_guard_raise_another_error(text: str) -> None:
    for url in (text, f"https://{text}/", f"https://[{text}]/", f"http://{text}"):
        try:
            UrlGuard().check(url)
        except UnsafeUrl:
            continue
        assert url.lower().startswith("https://")
