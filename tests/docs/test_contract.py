"""docs/contract.md lists the public names as the code has them, and the tests that it names exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from django.urls import resolve

from assistant.management import commands
from tests.docs.snippets import ROOT, codes, table
from tests.docs.test_facts import listed

CONTRACT = ROOT / "docs/contract.md"
TEXT = CONTRACT.read_text()
# Answered beside the site's own addresses, or by the web server.
BESIDE = ("/ws/", "/mcp/", "/static/")


def names(heading: str) -> dict[str, list[str]]:
    """The rows of a table: the first name of a row, with the names beside it."""
    return {codes(row[0])[0]: codes(row[-1]) for row in table(CONTRACT, heading)}


def addresses() -> list[str]:
    found = [address for row in table(CONTRACT, "## Addresses") for address in codes(row[0])]
    return [address for address in found if not address.startswith(BESIDE)]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[^`]*)`", TEXT))))
def test_every_test_that_is_named_exists(name: str) -> None:
    assert (ROOT / name).is_file()


@pytest.mark.parametrize("address", addresses())
def test_every_address_is_answered(address: str) -> None:
    path = address.replace("<tenant>", "acme")
    path = re.sub("<(thread|share)>", "2a3dbdb6-3a7d-4c43-8f0b-5d9a2d6f2f10", path)
    path += "assistants/" if path.startswith("/api/v1/") else ""
    assert "nothing_here" not in str(resolve(path).func)


def test_every_command_is_listed() -> None:
    homes = [Path(commands.__path__[0]), *(ROOT / "assistant/contrib").glob("*/management/commands")]
    assert set(names("## Commands")) == {file.stem for home in homes for file in home.glob("[a-z]*.py")}


def test_the_listed_frames_and_events_are_those_of_the_websocket_api() -> None:
    custom = {name for row in table(CONTRACT, "## Websocket frames") for name in codes(row[0])}
    assert custom == {
        "RunAgentInput",
        "attach",
        "cancel",
        "feedback",
        "show",
        "alarms",
        "alarm",
        "inbox",
        "inbox.seen",
        "conversations",
        "tool_requests",
        "tool_requests.seen",
        "ping",
    }
    (events,) = re.findall(r"^\| `CUSTOM` events \| (.*) \|$", TEXT, re.MULTILINE)
    assert set(codes(events)) == listed("### Custom events")


def test_the_codes_of_failed_runs_are_the_closed_list() -> None:
    (told,) = re.findall(r"Codes of `RUN_ERROR`: (.*?)\.\n\n", TEXT, re.DOTALL)
    assert set(codes(told)) == listed("### Codes of `RUN_ERROR`")


@pytest.mark.parametrize("module", list(names("## Python")))
def test_public_names_can_be_imported(module: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in names("## Python")[module] if not hasattr(found, name)] == []


@pytest.mark.parametrize(
    "module",
    ["assistant.toolkit", "assistant.client", "assistant.operations", "assistant.providers", "assistant.testing"],
)
def test_all_names_of_a_public_module_are_listed(module: str) -> None:
    face = importlib.import_module(module)
    assert set(names("## Python")[module]) == set(face.__all__)
