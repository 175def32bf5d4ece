"""Exports of tenants and users: complete, without secrets, in files that only their owner can read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.data_exports.exports import export_tenant, export_user
from assistant.contrib.data_exports.management.export_files import write_export
from assistant.models import AuditEntry, Tenant
from assistant.models.people import PersonSettings
from assistant.services.privacy.ownership import owned_models
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run
from tests.isolation.planting import CANARY, plant


@pytest.fixture
def planted(cast: Cast) -> Cast:
    plant(cast)
    return cast


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def archive_of(export: Any, **who: Any) -> dict[str, str]:
    file = io.BytesIO()
    export(to=file, **who)
    with ZipFile(file) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_an_export_of_a_tenant_is_complete_without_secrets(planted: Cast) -> None:
    found = archive_of(export_tenant, tenant=planted.acme, actor=planted.root)
    for model in owned_models(Tenant):
        rows = model._base_manager.count() if not model._meta.auto_created else 0
        assert not rows or found[f"{model._meta.label}.jsonl"], model
    assert CANARY in found["assistant.Message.jsonl"]
    assert "mallory" not in "".join(found.values())
    assert planted.alice.email in found["auth.User.jsonl"]
    assert "api_key" not in found["assistant.Provider.jsonl"] and "secrets" not in found["assistant.ToolSetting.jsonl"]
    assert (
        CANARY in found["assistant_later_results.PendingCall.jsonl"]
        and "hashed" not in found["assistant_later_results.PendingCall.jsonl"]
    )
    assert "hashed" not in found["assistant.ApiKey.jsonl"] and "password" not in found["auth.User.jsonl"]
    (path,) = [name for name in found if name.startswith("assistant.ToolFile/")]
    assert found[path] == CANARY
    assert json.loads(found["manifest.json"])["rows"]["assistant.Tenant"] == 1
    assert AuditEntry.objects.get(action="tenant.export").actor == planted.root


def test_an_export_of_a_user_has_all_their_rows_and_no_others(cast: Cast) -> None:
    mine, hers = (make_conversation(user, cast.support, title=f"of {user}") for user in (cast.alice, cast.amy))
    for thread in (mine, hers):
        make_message(thread, content=f"said by {thread.user}", run=make_run(thread))
    found = archive_of(export_user, user=cast.alice, actor=cast.root)
    assert "said by alice" in found["assistant.Message.jsonl"]
    assert str(mine.pk) in found["assistant.Run.jsonl"]
    assert "amy" not in "".join(found.values())


def test_an_export_of_a_user_has_their_own_settings(cast: Cast) -> None:
    PersonSettings.objects.create(user=cast.alice, name="Alice A.", theme="dark")
    settings = archive_of(export_user, user=cast.alice, actor=None)["assistant.PersonSettings.jsonl"]
    assert json.loads(settings) == {"user_id": cast.alice.pk, "name": "Alice A.", "language": "", "theme": "dark"}


def test_the_commands_name_errors(cast: Cast, tmp_path: Path) -> None:
    to = str(tmp_path / "x")
    for words, message in (
        (["assistant_export_user", "--end-user", "acme", "x", "--by", "root", "--file", to], "no end user"),
        (["assistant_export_tenant", "acme", "--by", "root", "--file", str(tmp_path)], "exists"),
    ):
        with pytest.raises(CommandError, match=message):
            run(*words)


def test_only_its_owner_can_read_an_export(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "alice.zip"
    assert "assistant.Membership" in run("assistant_export_user", "alice", "--by", "root", "--file", str(file))
    assert file.stat().st_mode & 0o077 == 0


def test_an_export_that_fails_leaves_no_file(cast: Cast, tmp_path: Path) -> None:
    def fail(file: Any) -> dict[str, int]:
        file.write(b"half of it")
        raise OSError("the disk is full")

    with pytest.raises(CommandError, match="disk is full"):
        write_export(tmp_path / "alice.zip", fail)
    assert list(tmp_path.iterdir()) == []


def test_an_export_replaces_no_file_that_was_made_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "alice.zip"

    def overtaken(_: Any) -> dict[str, int]:
        file.write_text("another's")
        return {}

    with pytest.raises(CommandError, match="exists"):
        write_export(file, overtaken)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("alice.zip", "another's")]
