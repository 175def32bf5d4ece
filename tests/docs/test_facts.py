"""Lists in the documents match the code: variables, events, codes, dependencies, links, files."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from assistant.contrib.inbox.frames import InboxFrames
from assistant.contrib.timed.alarm_frames import AlarmFrames
from assistant.contrib.tool_requests.frames import RequestFrames
from assistant.contrib.webhooks.services.events import TEST_EVENT
from assistant.core.values import events
from assistant.services.tenant_events import event_choices
from assistant.websocket import consumer
from assistant.websocket.followed_notice import FollowedNotice
from tests.docs.snippets import DECISIONS, DOCUMENTS, ROOT, codes, table
from tests.site.test_lock import GROUPS, declared

WEBSOCKET = ROOT / "docs/websocket.md"
# Files that the documents ask the reader to create.
NEW_FILES = {"tools/seats.py", "cassettes/invoices.json"}


@cache
def calls(root: str) -> list[tuple[str, ast.Call]]:
    """Return every call in the code below this folder, with the name of what is called."""
    place = ROOT / root
    return [
        (getattr(node.func, "attr", getattr(node.func, "id", "")), node)
        for path in ([place] if place.is_file() else place.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]


def text_argument(call: ast.Call, position: int, name: str) -> list[str]:
    """The literal text given for an argument, if it is one."""
    values = [item.value for item in call.keywords if item.arg == name] or call.args[position : position + 1]
    return [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]


def literals(function: str, position: int, name: str) -> set[str]:
    return {
        text
        for called, call in calls("assistant")
        if called == function
        for text in text_argument(call, position, name)
    }


def listed(heading: str) -> set[str]:
    return {name for row in table(WEBSOCKET, heading) for name in codes(row[0])}


def test_every_variable_is_documented() -> None:
    readers = {
        "text",
        "flag",
        "choice",
        "number",
        "words",
        "url",
        "origins",
        "internal_hosts",
        "file",
        "hosts",
        "paths",
        "key",
        "fernet_keys",
        "database",
        "email",
        "commands",
        "limits",
        "prices",
    }
    apps = (path.relative_to(ROOT).as_posix() for path in ROOT.glob("assistant/contrib/*/defaults.py"))
    settings_read = [
        *calls("config"),
        *calls("assistant/defaults.py"),
        *calls("assistant/contrib/demo/management"),
        *(call for path in apps for call in calls(path)),
    ]
    read = {
        text
        for called, call in settings_read
        if called in readers | {"get"}
        for text in text_argument(call, 0, "name")
        if re.fullmatch(r"[A-Z][A-Z_]+", text)
    }
    listed = [
        codes(row[0])[0]
        for heading in ("## The ten that matter", "## Variables")
        for row in table(ROOT / "docs/configuration.md", heading)
    ]
    assert len(table(ROOT / "docs/configuration.md", "## The ten that matter")) == 10
    assert sorted(listed) == sorted(read)


def test_the_example_environment_names_only_variables_that_exist() -> None:
    names = set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert names and all(f"`{name}`" in (ROOT / "docs/configuration.md").read_text() for name in names)


def test_every_event_is_documented() -> None:
    kinds = {kind.__struct_config__.tag for kind in events.Event.__subclasses__()}
    assert listed("## What the server sends") == kinds


def test_every_custom_event_is_documented() -> None:
    # Extensions of a run tell theirs, and what a connection follows has the notice's name.
    notices = {AlarmFrames.name, InboxFrames.name, RequestFrames.name}
    assert set(FollowedNotice.__subclasses__()) == {AlarmFrames, InboxFrames, RequestFrames}
    assert listed("### Custom events") == literals("Custom", 0, "name") | literals("tell", 0, "name") | notices


def test_every_error_code_in_the_code_is_on_the_closed_list() -> None:
    used = literals("Refused", 0, "code") | literals("RunError", 1, "code") | literals("ModelError", 1, "code")
    assert used <= listed("### Codes of `RUN_ERROR`")


def test_every_protocol_error_is_documented() -> None:
    assert listed("### Codes of `protocol_error`") == literals("_protocol_error", 0, "code")


def test_every_close_code_is_documented() -> None:
    ours = {value for name, value in vars(consumer).items() if name.startswith("CLOSE_")}
    assert ours <= {int(row[0]) for row in table(WEBSOCKET, "### Close codes")}


def test_the_limits_said_are_the_limits_kept() -> None:
    assert f"{consumer.MAX_FRAME // 1024} KiB" in WEBSOCKET.read_text()


def test_every_dependency_is_explained() -> None:
    packages = {requirement.name for requirement in declared(*GROUPS)}
    explained = (ROOT / "docs/dependencies.md").read_text()
    assert [
        name for name in sorted(packages) if not re.search(rf"(^\| |, ){re.escape(name)}\b", explained, re.MULTILINE)
    ] == []


@pytest.mark.parametrize("document", (*DOCUMENTS, *DECISIONS, ROOT / "SECURITY.md"), ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", (*DOCUMENTS, *DECISIONS, ROOT / "SECURITY.md"), ids=lambda path: path.name)
def test_files_named_in_the_documents_exist(document: Path) -> None:
    named = re.findall(r"`((?!app/|build/)[a-z_]+/[\w./-]+\.(?:py|md|js|json|yaml|html))`", document.read_text())
    panel = ROOT / "assistant/contrib/panel/templates"
    roots = (ROOT, ROOT / "assistant", ROOT / "docs", ROOT / "assistant/static/assistant", ROOT / "templates", panel)
    missing = {name for name in named if not any((root / name).exists() for root in roots)}
    assert missing - NEW_FILES == set()


def test_every_decision_is_listed_and_names_tests_that_exist() -> None:
    index = (ROOT / "docs/index.md").read_text()
    assert [path.name for path in DECISIONS if f"(decisions/{path.name})" not in index] == []
    named = {name for path in DECISIONS for name in re.findall(r"`(tests/[\w/]+\.py)", path.read_text())}
    assert named and [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_every_event_of_webhooks_is_documented() -> None:
    rows = table(ROOT / "docs" / "webhooks.md", "## Events")
    assert {codes(row[0])[0] for row in rows} == {*(name for name, _ in event_choices()), TEST_EVENT}
