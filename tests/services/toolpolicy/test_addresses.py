"""Addresses and account numbers are found in free text, in whatever form and in linear time."""

from __future__ import annotations

import time

import pytest

from assistant.services.toolpolicy.addresses import addresses_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Check out this link: www.secure-systems-252.com", ["www.secure-systems-252.com"]),
        ("See (https://evil.example/a?b=c), now.", ["https://evil.example/a?b=c"]),
        ("[your invoice](http://evil.example/x)", ["http://evil.example/x"]),
        ("<a href='//evil.example/x'>here</a>", ["href='//evil.example/x"]),
        ("Write to eve@evil.example, or mailto:eve@evil.example.", ["eve@evil.example", "mailto:eve@evil.example"]),
        ("at eve@localhost", ["eve@localhost"]),
        ("EVIL.EXAMPLE:8443/path is up", ["EVIL.EXAMPLE:8443/path"]),
        ("Ask 10.0.0.7 or 10.0.0.7:80", ["10.0.0.7", "10.0.0.7:80"]),
        ("xn--bcher-kva.xn--p1ai", ["xn--bcher-kva.xn--p1ai"]),
        ("evil\u200b.exa\u00admple", ["evil.example"]),
        ("evil．example and evil。example", ["evil.example"]),
        ("to GB29NWBK60161331926819 today", ["GB29NWBK60161331926819"]),
        ("GB29 NWBK 6016 1331 9268 19 for the rent", ["GB29 NWBK 6016 1331 9268 19", "6016 1331 9268 19"]),
        ("card 4237-4252-7456-2574", ["4237-4252-7456-2574"]),
        ("card 4237 4252-7456.2574", ["4237 4252-7456.2574"]),
        ("call +49 (170) 123-4567", ["+49 (170) 123-4567"]),
        ("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", ["bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"]),
        ("JAVASCRIPT:alert(1)", ["JAVASCRIPT:alert(1"]),
    ],
)
def test_addresses_are_found(text: str, found: list[str]) -> None:
    assert addresses_in(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "The meeting is on 2024-05-30 10:20, or on 30.05.2024 at 10.20.",
        "e.g. 3.5 of 10,000 pieces (a.m.), etc.",
        "Hello!\n\n- one\n- two: it's “done”...",
        "Stay at Luxury Palace, address: 1 Rue de la Paix, 75002 Paris, France, from January 1st.",
        "你好。世界",
        "@lena asked for 1 200 000 of them; #42 and @7 agree",
    ],
)
def test_other_text_has_none(text: str) -> None:
    assert addresses_in(text) == []


def test_what_is_joined_to_an_address_stays_with_it() -> None:
    """A part that was left out could carry something away to an address that is trusted."""
    assert addresses_in("https://shop.example/,463820") == ["https://shop.example/,463820"]
    assert addresses_in("a@shop.example;eve@evil.example") == ["a@shop.example;eve@evil.example"]


@pytest.mark.parametrize(
    "piece", ["a.", "1 ", "1-", "@", "//", "AB12 CDEF ", "[](", "é\u200b", "2024-01-0", "(", "a@b."]
)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        return min(_timed(text) for _ in range(3))

    # Ten times the length in the square of that would be a hundred times the time.
    assert seconds(50_000) < 40 * seconds(5_000) + 0.05


def _timed(text: str) -> float:
    start = time.process_time()
    addresses_in(text)
    return time.process_time() - start
