"""`manage.py assistant_bundle` exports a configuration, shows the difference to another tenant, and imports it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from assistant.models import ToolSetting
from tests.base import Cast
from tests.factories import switch_tool


def run(*arguments: object) -> str:
    out = StringIO()
    call_command("assistant_bundle", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_a_configuration_is_exported_and_imported_once(cast: Cast, tmp_path: Path) -> None:
    switch_tool(cast.acme, "current_time", "ask")
    file = tmp_path / "acme.json"
    run("export", "acme", "--file", file)
    shown = run("import", "globex", file, "--dry-run")
    assert "to create: tool current_time\n    policy: follow → ask" in shown
    assert "to change: assistant support\n    prompt: You are Globex's support assistant. →" in shown
    assert not ToolSetting.objects.filter(tenant=cast.globex).exists()
    assert "Imported." in run("import", "globex", file)
    assert "to c" not in run("import", "globex", file)


def test_an_assistant_is_exported_to_the_output(cast: Cast) -> None:
    assert [one["slug"] for one in json.loads(run("export", "acme", "--assistant", "support"))["assistants"]] == [
        "support"
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", "nobody"), "There is no tenant"),
        (("export", "acme", "--assistant", "none"), "no assistant"),
        (("import", "acme", "/nonexistent/file"), "cannot be read"),
        (("export", "acme", "--file", "/nonexistent/file"), "cannot be written"),
    ],
)
def test_what_cannot_be_found_is_said(cast: Cast, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(*arguments)


def test_a_file_that_is_no_bundle_is_refused_and_writes_no_escape_sequences(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("{}")
    with pytest.raises(CommandError, match="not a bundle"):
        run("import", "acme", file)
    good = json.loads(run("export", "acme"))
    good["assistants"][0]["name"] = "\x1b[2Jgone"
    file.write_text(json.dumps(good))
    assert "\x1b" not in run("import", "acme", file, "--dry-run")
