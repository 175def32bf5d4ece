"""docs/scopes.md shows the table of scopes as the code has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assistant.contrib.mcp_server.scopes import MCP_METHODS
from assistant.contrib.openai_api.scopes import OPENAI
from assistant.services.tenancy.scopes import FRAMES, HANDSHAKE, REST, Rule
from tests.docs.snippets import ROOT

DOCUMENT = ROOT / "docs/scopes.md"


def in_words(rule: Rule) -> str:
    words = " or ".join(f"`{scope}`" for scope in rule.any_of)
    words += "".join(f" and `{scope}`" for scope in rule.also)
    own = " or ".join(f"`{scope}`" for scope in rule.own_runs)
    return f"{words}; {own} for runs that the same key began" if own else words


def endpoints(table: Mapping[str, Mapping[str, Rule]]) -> Iterator[tuple[str, Rule]]:
    for address, rules in table.items():
        for method, rule in rules.items():
            yield f"`{method} {address}`", rule


def rows() -> Iterator[str]:
    frames = {"handshake": HANDSHAKE, **{f"`{kind}`": rule for kind, rule in FRAMES.items()}}
    groups = {
        "Websocket": frames.items(),
        "REST": endpoints(REST),
        "`/v1`": endpoints(OPENAI),
        "MCP": ((f"`{method}`", rule) for method, rule in MCP_METHODS.items()),
    }
    for group, entries in groups.items():
        for what, rule in entries:
            yield f"| {group} | {what} | {in_words(rule)} |"


def test_the_table_is_that_of_the_code() -> None:
    stored = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")][1:]
    assert stored == list(rows()), "docs/scopes.md should hold:\n" + "\n".join(rows())
