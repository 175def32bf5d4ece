"""The page *Backup and upgrades*: what was tried last is said, and is in the audit trail."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.deploy.admin.checklist_page import ACTION, DUE_AFTER, MAX_NOTE, STEPS
from assistant.models import AuditEntry
from tests.base import Cast

pytestmark = pytest.mark.django_db

PAGE = "/admin/backup-and-upgrades/"
DOCS = Path(__file__).parents[3] / "docs"


def test_a_try_is_recorded_and_shown_until_it_is_due_again(admin_client: Client) -> None:
    assert admin_client.get(PAGE).text.count("Not tried yet") == len(STEPS)
    admin_client.post(PAGE, {"step": "restore", "note": "Took <20 minutes"})
    entry = AuditEntry.objects.get(action=ACTION)
    assert (entry.tenant, entry.target, entry.details) == (None, "restore", {"note": "Took <20 minutes"})
    page = admin_client.get(PAGE).text
    assert "by admin: Took &lt;20 minutes" in page
    assert page.count("Not tried yet") == len(STEPS) - 1
    assert "due again" not in page
    assert "Checklist: tried" in admin_client.get("/admin/assistant/auditentry/").text
    AuditEntry.objects.update(created_at=timezone.now() - DUE_AFTER - timedelta(days=1))
    assert "due again" in admin_client.get(PAGE).text


@pytest.mark.parametrize(
    "given", [{"step": "unknown"}, {}, {"step": "keys", "note": "x" * (MAX_NOTE + 1)}], ids=["unknown", "none", "long"]
)
def test_what_is_no_step_or_too_long_is_not_recorded(admin_client: Client, given: dict[str, str]) -> None:
    assert admin_client.post(PAGE, given).status_code == 200
    assert not AuditEntry.objects.filter(action=ACTION).exists()


def test_operators_alone_see_and_record_it(client: Client, cast: Cast) -> None:
    client.force_login(cast.amy)
    assert client.get(PAGE).status_code == 403
    assert client.post(PAGE, {"step": "keys"}).status_code == 403
    assert not AuditEntry.objects.filter(action=ACTION).exists()


def test_its_commands_are_those_of_the_tried_pages() -> None:
    tried = (DOCS / "backup.md").read_text() + (DOCS / "releases.md").read_text()
    for step in STEPS:
        for command in step.commands:
            program = re.match(r"(python manage\.py )?\S+", command)
            assert program is not None
            assert program.group() in tried, command
