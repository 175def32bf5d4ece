"""The audit as a file of lines: each entry once, of one tenant if wanted, and no file of something else is touched."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from assistant.models import AuditEntry, Tenant
from assistant.services.tenancy import audit_trail
from tests.base import Cast

pytestmark = pytest.mark.django_db


def happen(cast: Cast, action: str, tenant: Tenant | None, *, ago: timedelta = timedelta(minutes=2)) -> None:
    entry = audit_trail.record(actor=cast.amy, action=action, target="x", tenant=tenant, details={"n": 1})
    AuditEntry.objects.filter(pk=entry.pk).update(created_at=timezone.now() - ago)


def feed(file: Path, *options: str) -> str:
    out = io.StringIO()
    call_command("assistant_audit_feed", str(file), *options, stdout=out)
    return out.getvalue().strip()


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_each_entry_is_appended_once(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    happen(cast, "prompt.publish", cast.acme)
    happen(cast, "tenant.add", None)
    assert (feed(file), feed(file)) == ("2 entries", "0 entries")
    happen(cast, "tool.switch", cast.globex)
    assert feed(file) == "1 entries"
    assert [line["action"] for line in lines(file)] == ["prompt.publish", "tenant.add", "tool.switch"]
    first = lines(file)[0]
    assert (first["tenant"], first["actor"], first["target"], first["details"]) == ("acme", "amy", "x", {"n": 1})
    assert lines(file)[1]["tenant"] is None
    assert file.stat().st_mode & 0o077 == 0


def test_entries_wait_until_no_earlier_one_can_come(cast: Cast, tmp_path: Path) -> None:
    happen(cast, "prompt.publish", cast.acme, ago=timedelta(seconds=5))
    assert feed(tmp_path / "audit.jsonl") == "0 entries"


def test_a_tenants_file_has_nothing_of_others(cast: Cast, tmp_path: Path) -> None:
    for tenant in (cast.acme, cast.globex, None):
        happen(cast, "prompt.publish", tenant)
    file = tmp_path / "acme.jsonl"
    assert feed(file, "--tenant", "acme") == "1 entries"
    assert {line["tenant"] for line in lines(file)} == {"acme"}


@pytest.mark.parametrize("text", ["hello\n", "[]\n", '{"id": "7"}\n', '{"id": 7}', "\n"])
def test_a_file_of_something_else_is_left_as_it_is(cast: Cast, tmp_path: Path, text: str) -> None:
    happen(cast, "prompt.publish", cast.acme)
    file = tmp_path / "notes.txt"
    file.write_text(text)
    with pytest.raises(CommandError, match="entry of the audit"):
        feed(file)
    assert file.read_text() == text
    with pytest.raises(CommandError):
        feed(tmp_path)
