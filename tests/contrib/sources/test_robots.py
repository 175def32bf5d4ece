"""robots.txt as RFC 9309 has it."""

from __future__ import annotations

import pytest

from assistant.contrib.sources.services.fetching import address_of
from assistant.contrib.sources.services.robots import read_robots

RULES = """
# for everybody
User-agent: *
Disallow: /private/
Allow: /private/open
Disallow: /*.pdf$
Disallow: /search?*q=
Crawl-delay: 3

User-agent: other-bot
User-agent: greedy
Disallow: /
"""


@pytest.mark.parametrize(
    ("path", "is_allowed"),
    [
        ("/", True),
        ("/private/a", False),
        ("/private/open/b", True),
        ("/%70rivate/a", False),
        ("/docs/a.pdf", False),
        ("/docs/a.pdf?x", True),
        ("/search?lang=en&q=dogs", False),
        ("/search", True),
    ],
)
def test_the_longest_rule_decides(path: str, is_allowed: bool) -> None:
    assert read_robots(RULES).allows(path) is is_allowed


def test_a_group_for_us_holds_alone_and_pauses_are_numbers() -> None:
    robots = read_robots(RULES + "\nUser-Agent: Tenant-Assistant/2\nDisallow: /docs\nCrawl-delay: nan")
    assert robots.allows("/private/a") and not robots.allows("/docs/a")
    assert (robots.delay, read_robots(RULES).delay) == (0.0, 3.0)


@pytest.mark.parametrize("text", ["", "no rules", "Disallow: /", "User-agent: *\nDisallow:", "\x00\ufffd" * 1000])
def test_without_rules_all_is_allowed(text: str) -> None:
    assert read_robots(text).allows("/anything")


def test_many_stars_take_linear_time() -> None:
    pattern = "/" + "a*" * 200 + "b$"
    assert read_robots(f"User-agent: *\nDisallow: {pattern}").allows("/" + "a" * 2_000)


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("b#part", "https://acme.example/docs/b"),
        ("/ü b?q=ä", "https://acme.example/%C3%BC%20b?q=%C3%A4"),
        ("//other.example", "https://other.example/"),
        ("mailto:a@b.example", ""),
        ("javascript:alert(1)", ""),
        ("https://user:pass@acme.example/", ""),
        ("https://[::1", ""),
        ("x" * 700, ""),
    ],
)
def test_links_become_addresses(link: str, address: str) -> None:
    assert address_of("https://acme.example/docs/a", link) == address
