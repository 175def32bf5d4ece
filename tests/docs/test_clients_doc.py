"""The clients in the documents run against a real server; the list of codes of /v1 is complete."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess

import pytest

from assistant.contrib.openai_api.api.shapes import STATUS_OF_ERROR
from assistant.contrib.openai_api.error_bodies import CODES
from assistant.contrib.openai_api.services.request_fields import ERROR_CODES
from assistant.models import Provider
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks, codes, table
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.python_template import forked_python


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("rest.md", "finished Half past nine."),
        ("attachments.md", "finished Half past nine."),
        ("openai.md", "['support']\nHalf past nine."),
        ("responses.md", "Half past nine."),
    ],
)
def test_the_client_of_a_document_gets_an_answer(
    document: str, said: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Half past nine.")
    _, key = create_api_key(tenant=cast.acme, user=cast.alice, name="docs")
    block, *_settings = blocks(ROOT / "docs" / document, "python")
    script = block.text.replace("http://127.0.0.1:8000", uvicorn_server.url)
    done = subprocess.run(
        [str(forked_python()), "-c", script], env={**os.environ, "API_KEY": key}, capture_output=True,
        text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == said, done.stderr


def refusals(name: str, position: int) -> set[str]:
    """The literal codes with which the code calls `name`."""
    found = set()
    for path in (ROOT / "assistant").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                values = [item.value for item in node.keywords if item.arg == "code"] or node.args[position:][:1]
                found |= {str(value.value) for value in values if isinstance(value, ast.Constant)}
    return found


def documented(document: str, heading: str, column: int) -> set[str]:
    return {code for row in table(ROOT / "docs" / document, heading) for code in codes(row[column])}


def test_every_code_of_the_openai_door_is_documented() -> None:
    used = refusals("error", 3) | set(STATUS_OF_ERROR) - {"thread_not_found"} | set(ERROR_CODES)
    used |= {"unauthorized", "forbidden", "too_large", "too_many_requests", "invalid_host", "internal_error"}
    assert {CODES.get(code, code) for code in used} == documented("openai.md", "## Errors", 1)


def test_the_clients_that_are_installed_are_those_that_passed() -> None:
    """Whoever raises a version runs the clients with it, and writes that down."""
    told = (ROOT / "docs/clients.md").read_text().partition("## When all of them last passed")[2]
    passed = dict(re.findall(r"`([^`]+)` ([0-9.]+[0-9])", told))
    folders = (ROOT / "tests/clients", ROOT / "tests/client_pages")
    installed = {
        name: version
        for folder in folders
        for name, version in json.loads((folder / "package.json").read_text())["dependencies"].items()
    }
    installed |= dict(re.findall(r"(?m)^([a-z-]+)(?:\[\w+\])?==(\S+)$", (folders[0] / "requirements.txt").read_text()))
    assert passed.keys() - installed.keys() == {"mcp", "django-admin-agent", "schemathesis"}
    assert {name: installed[name] for name in passed.keys() & installed.keys()} == {
        name: version for name, version in passed.items() if name in installed
    }
    tools = {"rxjs", "ws", "zod", "esbuild", "react", "react-dom", "axe-core", "@ag-ui/client-0.0.59"}
    assert installed.keys() - passed.keys() == tools
